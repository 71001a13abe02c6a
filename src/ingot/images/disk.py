"""A disk image as the disk that is in it, whatever its format."""

from pathlib import Path

from ingot.images.content import Content, FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import MAGIC, MOST_BYTES
from ingot.images.qcow2.reader import Qcow2

FORMATS = ("raw", "qcow2")


def open_disk(
    image: Content | Path, format: str | None = None, *, subject: str = "", limit: int = MOST_BYTES
) -> Content:
    """The disk of an image in a file or in other content, which is closed with it.

    `format` is one of FORMATS; without it the first bytes tell. `subject` names the image in errors; `limit` is how
    many bytes the disk may have. Raises ImageFault, and OSError when the file cannot be opened. Nothing stays open
    after an error.
    """
    name = subject or (str(image) if isinstance(image, Path) else "the image")
    content = FileContent(image) if isinstance(image, Path) else image
    try:
        return _decoded(content, format or _format(content), name, limit)
    except BaseException:
        content.close()
        raise


def _decoded(content: Content, format: str, subject: str, limit: int) -> Content:
    match format:
        case "qcow2":
            return Qcow2(content, subject, limit)
        case "raw":
            if content.size > limit:
                raise ImageFault(subject, "TooLarge", f"its disk has {content.size} bytes; at most {limit} fit")
            return content
        case _:
            raise ImageFault(subject, "BadFormat", f"its format {format!r} must be one of {', '.join(FORMATS)}")


def _format(content: Content) -> str:
    head = read(content, 0, min(content.size, len(MAGIC)))
    return "qcow2" if head == MAGIC else "raw"
