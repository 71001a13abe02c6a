"""Disks of zeros."""

from collections.abc import Iterator

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.pipeline.material import Material
from ingot.images.pipeline.metered import Meter
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source


class BlankContent:
    """`size` zeros, none of which has to be copied."""

    def __init__(self, size: int) -> None:
        self.size = size

    def readinto(self, start: int, buffer: memoryview) -> None:
        if start + len(buffer) > self.size:
            raise ImageFault("a blank disk", "Truncated", f"byte {start + len(buffer)} is wanted of {self.size}")
        buffer[:] = bytes(len(buffer))

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        if start < end:
            yield Extent(start, end - start, False, start)

    def close(self) -> None:
        """Nothing is held."""


def open_blank(source: Source, options: ImportOptions) -> Material:
    """Raises ImageFault for a disk without a size."""
    size = int(source.place)
    if size <= 0:
        raise ImageFault(str(source), "NoSize", "a blank disk is as large as it is asked for: give its size")
    return Material(str(source), f"blank:{size}", Meter(options.rate), content=BlankContent(size), format="raw")
