"""Whether a disk of this machine is the disk of an image."""

from collections.abc import Callable

from ingot.images.container_disk import ContainerDisk
from ingot.images.content import Content, read
from ingot.images.disk import FOREIGN, format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.qcow2.layout import Layout
from ingot.images.qcow2.writer import Qcow2Image, nonzero
from ingot.images.repush import same_file

Progress = Callable[[int, int], None]
_UNIT = 4 << 20


def first_difference(local: Content, disk: ContainerDisk, progress: Progress) -> int | None:
    """The first byte in which a local disk differs from that of an image; None where they are the same.

    A disk that Ingot pushed is compared by digests, and nothing is fetched but its table; others are read, and a layer
    without a table, or with a disk that QEMU alone decodes, as a whole. Raises ImageFault.
    """
    if disk.pieces is None:
        return _beside_stream(local, disk, progress)
    if same_file(Qcow2Image(local, Layout(local.size, nonzero(local))), disk.pieces, progress):
        return None
    file = disk.content()
    if (format := format_of(file)) in FOREIGN:
        return _beside_stream(local, disk, progress)
    return _search(local, open_disk(file, format, subject=disk.blob.subject), progress)


def _beside_stream(local: Content, disk: ContainerDisk, progress: Progress) -> int | None:
    # Codecs and decoders take time to load.
    from ingot.images.pipeline.comparing import difference_of_stream

    try:
        with disk.stream() as stream:
            return difference_of_stream(local, stream, progress)
    except OSError as error:
        raise ImageFault(disk.blob.subject, "NoRoom", f"it cannot be put aside on its way: {error.strerror}") from None


def _search(local: Content, other: Content, progress: Progress) -> int | None:
    size = min(local.size, other.size)
    for start in range(0, size, _UNIT):
        length = min(_UNIT, size - start)
        if _is_hole(local, start, length) and _is_hole(other, start, length):
            continue
        one, two = read(local, start, length), read(other, start, length)
        if one != two:
            return start + next(at for at in range(length) if one[at] != two[at])
        progress(start + length, size)
    return None if local.size == other.size else size


def _is_hole(content: Content, start: int, length: int) -> bool:
    return not any(extent.data for extent in content.extents(start, start + length))
