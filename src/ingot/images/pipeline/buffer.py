"""Memory that the kernel can write to a disk without copying it."""

import ctypes

# What every disk and filesystem is content with.
ALIGNMENT = 4096


class Buffer:
    """Room for `size` bytes of a disk, which lie in memory as they do on the disk: aligned bytes are aligned."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size + 2 * ALIGNMENT)
        self._view = memoryview(self.data)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.data))
        self._base = -address % ALIGNMENT

    def index(self, start: int) -> int:
        """Where in `data` the bytes from `start` of the disk on belong."""
        return self._base + start % ALIGNMENT

    def place(self, start: int, length: int) -> memoryview:
        """The memory for these bytes of the disk."""
        index = self.index(start)
        return self._view[index : index + length]
