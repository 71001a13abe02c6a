"""Images of other makers, looked at before QEMU is given them: none may lead it to a second file."""

import re
import struct
import uuid
from collections.abc import Callable, Iterator

from ingot.images.content import Content, read
from ingot.images.fault import ImageFault
from ingot.images.vmdk_grains import SECTOR, CutOff, check_grains

_WHOLE = "make it one whole file with `qemu-img convert -O qcow2`"

_VMDK_MAGIC = b"KDMV"
# version, flags, capacity, grain size, descriptor (offset, size), all but the first two in sectors.
_VMDK = struct.Struct("<4sIIQQQQ")
_VMDK_TYPES = ("monolithicSparse", "streamOptimized")
# QEMU looks for a parent in the first 20 sectors behind the header, wherever the header says its descriptor is.
_VMDK_HEAD = 21 * SECTOR
_MOST_DESCRIPTOR = 20 * SECTOR
_CREATE_TYPE = re.compile(rb'^\s*createType\s*=\s*"?([^"\s]*)', re.MULTILINE | re.IGNORECASE)
_VMDK_EXTENT = re.compile(rb"^\s*(?:RW|RDONLY|NOACCESS)\s+\d+\s+(\w+)", re.MULTILINE)
_PARENT_HINT = b"parentfilenamehint"

# Behind 64 bytes of text: magic, version, size of the header, type of the image.
_VDI = struct.Struct("<64x4sIII")
_VDI_MAGIC = b"\x7f\x10\xda\xbe"
_VDI_TYPES = (1, 2)
_VDI_PARENTS = slice(0x1A8, 0x1C8)
# Where the data begin, the size of a block, and how many there are.
_VDI_DATA = (0x158, 0x178, 0x184)

_VHDX_MAGIC = b"vhdxfile"
_VHDX_REGIONS = (192 << 10, 256 << 10)
_VHDX_REGION_ENTRY = struct.Struct("<16sQII")
_VHDX_METADATA = uuid.UUID("8b7ca206-4790-4b9a-b8fe-575f050f886e").bytes_le
_VHDX_METADATA_ENTRY = struct.Struct("<16sIII4x")
_VHDX_PARAMETERS = uuid.UUID("caa16737-fa36-4d43-b3b6-33f0aa44e76b").bytes_le
_VHDX_HAS_PARENT = 2
# The specification's own bounds.
_MOST_REGIONS = 2047
_MOST_METADATA = 1023
_METADATA_TABLE = 64 << 10

_VPC_MAGIC = b"conectix"
_VPC_TYPE = struct.Struct(">60xI")
_VPC_TYPES = (2, 3)


def check_foreign(content: Content, format: str, subject: str) -> None:
    """Raises ImageFault unless the image is one of `format` (a key of CHECKS) that stands by itself."""
    try:
        CHECKS[format](content, subject)
    except struct.error:
        raise _broken(subject, f"it is too short for a {format}") from None


def _check_vmdk(content: Content, subject: str) -> None:
    head = bytes(read(content, 0, min(content.size, _VMDK_HEAD)))
    if not head.startswith(_VMDK_MAGIC):
        raise _leads(subject, "it is a vmdk of several files, which could be any files of the node")
    _, _, _, capacity, _, offset, size = _VMDK.unpack_from(head)
    if capacity == 0:
        raise _leads(subject, "it is a vmdk whose data are in other files")
    start, length = offset * SECTOR, min(size * SECTOR, _MOST_DESCRIPTOR)
    if start == 0 or start + length > content.size:
        raise _broken(subject, "it is a vmdk without a descriptor in it")
    descriptor = bytes(read(content, start, length))
    if _PARENT_HINT in head.lower() or _PARENT_HINT in descriptor.lower():
        raise _leads(subject, "it has a parent, which could be any file of the node")
    kinds = [kind.decode() for kind in _CREATE_TYPE.findall(descriptor)]
    if len(kinds) != 1 or kinds[0] not in _VMDK_TYPES:
        raise _leads(subject, f"it is a vmdk of the type {', '.join(kinds) or 'none'}, not {' or '.join(_VMDK_TYPES)}")
    if _VMDK_EXTENT.findall(descriptor) != [b"SPARSE"]:
        raise _leads(subject, "it is a vmdk whose data are in other files")
    try:
        check_grains(content)
    except CutOff as error:
        raise _broken(subject, str(error)) from None


def _check_vdi(content: Content, subject: str) -> None:
    head = bytes(read(content, 0, min(content.size, SECTOR)))
    magic, _, _, kind = _VDI.unpack_from(head)
    if magic != _VDI_MAGIC or len(head) < SECTOR:
        raise _broken(subject, "it is no vdi")
    if kind not in _VDI_TYPES or any(head[_VDI_PARENTS]):
        raise _leads(subject, "it has a parent, which could be any file of the node")
    start, block, blocks = (int.from_bytes(head[at : at + 4], "little") for at in _VDI_DATA)
    if start + block * blocks > content.size:
        # QEMU would read zeros behind the end.
        raise _broken(subject, f"it ends at byte {content.size}, before its {blocks} blocks do")


def _check_vhdx(content: Content, subject: str) -> None:
    if read(content, 0, min(content.size, 8)) != _VHDX_MAGIC:
        raise _broken(subject, "it is no vhdx")
    for found in vhdx_items(content, _VHDX_PARAMETERS, subject):
        if int.from_bytes(found[4:], "little") & _VHDX_HAS_PARENT:
            raise _leads(subject, "it has a parent, which could be any file of the node")


def vhdx_items(content: Content, kind: bytes, subject: str) -> Iterator[bytes]:
    """The first 8 bytes of all metadata of a vhdx that are of that kind. The two region tables are copies; whichever of
    them QEMU takes must not lead elsewhere. Raises ImageFault."""
    for region in _VHDX_REGIONS:
        for start in _vhdx_metadata(content, region, subject):
            yield from _vhdx_entries(content, start, kind, subject)


def _vhdx_metadata(content: Content, region: int, subject: str) -> list[int]:
    """Where the metadata are, by one region table."""
    head = _part(content, region, 16, subject)
    count = int.from_bytes(head[8:12], "little")
    if head[:4] != b"regi" or count > _MOST_REGIONS:
        raise _broken(subject, "it is a vhdx with a broken table of regions")
    entries = _part(content, region + 16, count * _VHDX_REGION_ENTRY.size, subject)
    return [start for kind, start, _, _ in _VHDX_REGION_ENTRY.iter_unpack(entries) if kind == _VHDX_METADATA]


def _vhdx_entries(content: Content, start: int, wanted: bytes, subject: str) -> Iterator[bytes]:
    """Those of that kind in one table of metadata."""
    head = _part(content, start, 32, subject)
    count = int.from_bytes(head[10:12], "little")
    if head[:8] != b"metadata" or count > _MOST_METADATA:
        raise _broken(subject, "it is a vhdx with broken metadata")
    entries = _part(content, start + 32, count * _VHDX_METADATA_ENTRY.size, subject)
    for kind, offset, _, _ in _VHDX_METADATA_ENTRY.iter_unpack(entries):
        if kind == wanted:
            yield bytes(_part(content, start + offset, 8, subject))


def _check_vhd(content: Content, subject: str) -> None:
    """All have a footer at the end; those of other than fixed size have a copy of it in front, which QEMU prefers."""
    front, back = (bytes(_part(content, place, SECTOR, subject)) for place in (0, max(0, content.size - SECTOR)))
    if not back.startswith(_VPC_MAGIC):
        raise _broken(subject, "it is no vhd, or its end is missing")
    for footer in (front, back):
        if footer.startswith(_VPC_MAGIC) and _VPC_TYPE.unpack_from(footer)[0] not in _VPC_TYPES:
            raise _leads(subject, "it has a parent, which could be any file of the node")


CHECKS: dict[str, Callable[[Content, str], None]] = {
    "vmdk": _check_vmdk,
    "vdi": _check_vdi,
    "vhdx": _check_vhdx,
    "vhd": _check_vhd,
}


def _part(content: Content, start: int, length: int, subject: str) -> bytearray:
    if start + length > content.size:
        raise _broken(subject, f"it ends at byte {content.size}, within its tables")
    return read(content, start, length)


def _leads(subject: str, message: str) -> ImageFault:
    return ImageFault(subject, "LeadsElsewhere", f"{message}: {_WHOLE}")


def _broken(subject: str, message: str) -> ImageFault:
    return ImageFault(subject, "BadImage", f"{message}: put a whole image there")
