"""How large a disk may be that is imported."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingot.images.blocks import BLOCK, whole_blocks
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import MOST_BYTES

# What a file with a disk may have besides, however small that is: a vhdx begins with some MiB, and has large blocks.
_BESIDE = 256 << 20


def most_of_file(disk: int) -> int:
    """No file may have more bytes that a disk of so many is in: tables are beside it, and unused room."""
    return min(disk + disk // 8 + _BESIDE, MOST_BYTES)


class Bounds:
    """What the options, the device, and reason allow for the target `name`."""

    def __init__(
        self, name: str, limit: int = 0, size: int = 0, room: int | None = None, *, padded: bool = False
    ) -> None:
        """`limit` is what is accepted, `size` what the disk is grown to, both 0 for none; `room` that of a device.
        `padded`: zeros are added to the disk until its last block is whole, unless that is a device's.
        Raises ImageFault when it cannot be grown to that size in any case."""
        self._name = name
        self._limit = limit
        self._grown = size
        self._room = room
        self._padded = padded and room is None
        if size > MOST_BYTES:
            raise self._fault(f"a disk of {size} bytes is wanted, and none may have more than {MOST_BYTES}")
        if room is not None and size > room:
            raise self._fault(f"a disk of {size} bytes is wanted, and the device has room for {room}")

    @property
    def most(self) -> int:
        """No disk may have more bytes."""
        return min(
            self._limit or MOST_BYTES, self._grown or MOST_BYTES, MOST_BYTES if self._room is None else self._room
        )

    @property
    def most_of_file(self) -> int:
        """No file may have more bytes that a disk is in."""
        return most_of_file(self.most)

    def check(self, size: int) -> None:
        """Raises ImageFault for a disk of this size, or one that has come to it already, if that is too large."""
        needed = self._whole(size)
        if needed <= self.most:
            return
        has = f"its disk has {size} bytes or more"
        if size <= self.most:
            has = f"its disk has {size} bytes, which take {needed} in whole blocks of {BLOCK}"
        size = needed
        if self._limit and size > self._limit:
            raise self._fault(f"{has}, and at most {self._limit} are accepted")
        if self._room is not None and size > self._room:
            raise self._fault(f"{has}, and the device has room for {self._room}")
        if self._grown and size > self._grown:
            raise self._fault(f"{has}, and {self._grown} are wanted")
        raise self._fault(f"{has}, more than any disk may have")

    @contextmanager
    def told(self) -> Iterator[None]:
        """Who finds a disk too large may know only `most`: the fault then tells where that comes from."""
        try:
            yield
        except ImageFault as fault:
            if fault.reason != "TooLarge" or self.most != self._grown:
                raise
            message = f"{fault.message}: --size only grows a disk, so give more, or leave it out"
            raise ImageFault(fault.subject, fault.reason, message) from None

    def final(self, size: int) -> int:
        """The size of the disk that is made of one of `size` bytes. Raises ImageFault as `check` does."""
        self.check(size)
        return self._whole(max(size, self._grown))

    def _whole(self, size: int) -> int:
        return whole_blocks(size) if self._padded else size

    def _fault(self, message: str) -> ImageFault:
        return ImageFault(self._name, "TooLarge", message)
