"""Memory that the kernel can write to a disk without copying it."""

import ctypes

from ingot.images.large_memory import large_memory

# What every disk and filesystem is content with.
ALIGNMENT = 4096
_LIBC = ctypes.PyDLL(None)
_LIBC.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class Buffer:
    """Room for `size` bytes of a disk, which lie in memory as they do on the disk: aligned bytes are aligned."""

    def __init__(self, size: int) -> None:
        memory = large_memory(size + ALIGNMENT)
        self._view = memoryview(memory)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def place(self, start: int, length: int) -> memoryview:
        """The memory for these bytes of the disk."""
        index = start % ALIGNMENT
        return self._view[index : index + length]

    def equals(self, start: int, at: int, other: bytes) -> bool:
        """Whether what lies `at` so many bytes behind the place for `start` is that: memoryviews compare byte by byte,
        and slices copy."""
        return bool(_LIBC.memcmp(self._address + start % ALIGNMENT + at, other, len(other)) == 0)
