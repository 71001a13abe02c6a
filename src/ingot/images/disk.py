"""A disk image as the disk that is in it, whatever its format."""

from pathlib import Path

from ingot.images.content import Content, FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import MOST_BYTES
from ingot.images.qcow2.reader import Qcow2
from ingot.images.sniff import HEAD, refuse, sniff

_RAW = ("raw", "iso")
# What QEMU decodes, from files only.
FOREIGN = ("vmdk", "vdi", "vhdx", "vhd")
FORMATS = (*_RAW, "qcow2", *FOREIGN)


def open_disk(
    image: Content | Path,
    format: str | None = None,
    *,
    subject: str = "",
    limit: int = MOST_BYTES,
) -> Content:
    """The disk of an image in a file or in other content, which is closed with it.

    `format` is one of FORMATS; without it the first bytes tell. `subject` names the image in errors; `limit` is how
    many bytes the disk may have. QEMU, which decodes what is neither raw nor qcow2, does that for files only. Raises
    ImageFault, and OSError when the file cannot be opened. Nothing stays open after an error.
    """
    name = subject or (str(image) if isinstance(image, Path) else "the image")
    content = FileContent(image) if isinstance(image, Path) else image
    try:
        return _decoded(content, format or format_of(content), name, limit)
    except BaseException:
        content.close()
        raise


def format_of(content: Content) -> str:
    """What the first bytes say, as `sniff` has it. Raises ImageFault."""
    return sniff(bytes(read(content, 0, min(content.size, HEAD))))


def _decoded(content: Content, format: str, subject: str, limit: int) -> Content:
    if format == "qcow2":
        return Qcow2(content, subject, limit)
    if format in _RAW:
        if content.size > limit:
            raise ImageFault(subject, "TooLarge", f"its disk has {content.size} bytes; at most {limit} fit")
        return content
    if format in FOREIGN:
        # It needs the client of NBD, which takes time to import.
        from ingot.images.foreign import ForeignDisk

        if not isinstance(content, FileContent):
            message = f"its format, {format}, is decoded from a local file only: copy it, or make it a qcow2"
            raise ImageFault(subject, "NeedsFile", message)
        return ForeignDisk(content, format, subject, limit)
    refuse(format, subject)
    message = f"its format is {format}; it must be one of {', '.join(FORMATS)}"
    raise ImageFault(subject, "BadFormat", f"{message}: unpack it, or make a disk of it with `ingot image pull` first")
