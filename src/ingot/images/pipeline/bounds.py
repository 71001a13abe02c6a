"""How large a disk may be that is imported."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import MOST_BYTES


class Bounds:
    """What the options, the device, and reason allow for the target `name`."""

    def __init__(self, name: str, limit: int = 0, size: int = 0, room: int | None = None) -> None:
        """`limit` is what is accepted, `size` what the disk is grown to, both 0 for none; `room` that of a device.
        Raises ImageFault when it cannot be grown to that size in any case."""
        self._name = name
        self._limit = limit
        self._grown = size
        self._room = room
        if room is not None and size > room:
            raise self._fault(f"a disk of {size} bytes is wanted, and the device has room for {room}")

    @property
    def most(self) -> int:
        """No disk may have more bytes."""
        return min(
            self._limit or MOST_BYTES, self._grown or MOST_BYTES, MOST_BYTES if self._room is None else self._room
        )

    def check(self, size: int) -> None:
        """Raises ImageFault for a disk of this size, or one that has come to it already, if that is too large."""
        if size <= self.most:
            return
        has = f"its disk has {size} bytes or more"
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
        return max(size, self._grown)

    def _fault(self, message: str) -> ImageFault:
        return ImageFault(self._name, "TooLarge", message)
