"""Host disks: a raw image by its path on the node, made when it is missing and that was asked for."""

import contextlib
import errno
import os
import secrets
from pathlib import Path

from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.disks import identity
from ingot.disks.endpoint import File
from ingot.disks.place import Place
from ingot.disks.source.image import open_raw
from ingot.disks.source.refusal import final, patiently, refusal
from ingot.host.files import sync_directory
from ingot.images.blocks import whole_blocks
from ingot.kube.client import Client


async def resolve(volume: Object, _vmi: Object, place: Place, _client: Client) -> File:
    """The file of a `hostDisk` volume. Raises DiskFault."""
    name, spec = str(volume["name"]), volume["hostDisk"]
    path = Path(spec["path"])
    if not path.is_absolute():
        raise final(name, "InvalidVolume", f"hostDisk.path {spec['path']!r} must be absolute, such as /disks/one.img")
    return await patiently(name, str(path), lambda: _find(name, path, spec, place))


def _find(name: str, path: Path, spec: Object, place: Place) -> File:
    node = place.node
    _refuse_ours(name, path, Path(os.path.realpath(path)), place)
    if spec["type"] == "DiskOrCreate":
        _make_missing(name, path, spec.get("capacity"))
    missing = f"hostDisk.path {path} does not exist on node {node!r}: put a raw image there, or use type DiskOrCreate"
    opened = open_raw(name, path, f"hostDisk.path {path} on node {node!r}", missing)
    # Again, for what it leads to may have changed since.
    _refuse_ours(name, path, opened.path.readlink(), place)
    identities = identity.file(node, opened)
    shared = {f"file:shared:{path}"} if spec.get("shared") else set()
    return File(opened.path.readlink(), identities=identities | shared, opened=opened)


def _refuse_ours(name: str, path: Path, real: Path, place: Place) -> None:
    """Keys, tokens and the volumes and disks of others are nobody's host disk, whatever the user may."""
    for ours in (place.own, place.kubelet):
        if real.is_relative_to(ours.resolve()):
            message = f"hostDisk.path {path} is in {ours}, where node {place.node!r} keeps what is its own: use a claim"
            raise final(name, "InvalidVolume", f"{message}, or another directory")


def _make_missing(name: str, path: Path, capacity: str | int | None) -> None:
    """Makes a sparse image of whole blocks, at every moment there whole or not at all; one that is there stays."""
    if os.path.lexists(path):
        return
    if capacity is None:
        raise final(name, "InvalidVolume", f"hostDisk.capacity is needed to make {path}: give one, such as 10Gi")
    size = whole_blocks(whole(capacity))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(name, path, size)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _no_space(name, path, size, 0) from None
        message = f"hostDisk.path {path} cannot be made: {error.strerror}"
        raise refusal(name, "HostDiskNotMade", message) from None


def _make(name: str, path: Path, size: int) -> None:
    found = os.statvfs(path.parent)
    if found.f_bavail * found.f_frsize < size:
        raise _no_space(name, path, size, found.f_bavail * found.f_frsize)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        # A link, unlike a rename, never takes the place of an image that somebody else made meanwhile.
        with contextlib.suppress(FileExistsError):
            os.link(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    sync_directory(path.parent)


def _no_space(name: str, path: Path, size: int, free: int) -> Exception:
    message = f"hostDisk.path {path} cannot be made: {size} bytes are wanted and {free} are free: make room"
    return refusal(name, "NoSpace", message)
