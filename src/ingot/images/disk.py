"""A disk image as the disk that is in it, whatever its format."""

import tempfile
from pathlib import Path

from ingot.images.content import Content, FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import MOST_BYTES
from ingot.images.qcow2.reader import Qcow2
from ingot.images.sniff import HEAD, sniff

_RAW = ("raw", "iso")
_FOREIGN = ("vmdk", "vdi", "vhdx", "vpc")
FORMATS = (*_RAW, "qcow2", *_FOREIGN)
_PIECE = 4 << 20


def open_disk(
    image: Content | Path,
    format: str | None = None,
    *,
    subject: str = "",
    limit: int = MOST_BYTES,
    scratch: Path | None = None,
) -> Content:
    """The disk of an image in a file or in other content, which is closed with it.

    `format` is one of FORMATS; without it the first bytes tell. `subject` names the image in errors; `limit` is how
    many bytes the disk may have. QEMU, which decodes what is neither raw nor qcow2, reads files only: other content is
    copied to an unnamed file in the directory `scratch` first, and refused where none is given. Raises ImageFault, and
    OSError when the file cannot be opened. Nothing stays open after an error.
    """
    name = subject or (str(image) if isinstance(image, Path) else "the image")
    content = FileContent(image) if isinstance(image, Path) else image
    try:
        return _decoded(content, format or format_of(content), name, limit, scratch)
    except BaseException:
        content.close()
        raise


def format_of(content: Content) -> str:
    """What the first bytes say, as `sniff` has it. Raises ImageFault."""
    return sniff(bytes(read(content, 0, min(content.size, HEAD))))


def _decoded(content: Content, format: str, subject: str, limit: int, scratch: Path | None) -> Content:
    if format == "qcow2":
        return Qcow2(content, subject, limit)
    if format in _RAW:
        if content.size > limit:
            raise ImageFault(subject, "TooLarge", f"its disk has {content.size} bytes; at most {limit} fit")
        return content
    if format in _FOREIGN:
        # It needs the client of NBD, which takes time to import.
        from ingot.images.foreign import ForeignDisk

        file = content if isinstance(content, FileContent) else _copied(content, subject, scratch)
        try:
            disk = ForeignDisk(file, format, subject, limit)
        except BaseException:
            if file is not content:
                file.close()
            raise
        if file is not content:
            content.close()
        return disk
    raise ImageFault(subject, "BadFormat", f"its format is {format}; it must be one of {_words()}")


def _words() -> str:
    return ", ".join(FORMATS)


def _copied(content: Content, subject: str, scratch: Path | None) -> FileContent:
    """The content in a file without a name."""
    if scratch is None:
        raise ImageFault(subject, "NeedsFile", f"its format is decoded from a file only: copy it, or name {_words()}")
    with tempfile.TemporaryFile(dir=scratch) as file:
        buffer = memoryview(bytearray(_PIECE))
        for extent in content.extents(0, content.size):
            for at in range(extent.start, extent.end if extent.data else extent.start, _PIECE):
                piece = buffer[: min(_PIECE, extent.end - at)]
                content.readinto(at, piece)
                file.seek(at)
                file.write(piece)
        file.truncate(content.size)
        file.flush()
        return FileContent(Path(f"/proc/self/fd/{file.fileno()}"))
