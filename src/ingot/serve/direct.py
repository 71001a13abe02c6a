"""A file as the kernel can send it by itself, so that its bytes never come into this process."""

import contextlib
import mmap
import os

# Where a page cannot be read, a process that looks at it is killed; a system call that does so on its behalf fails.
# So the memory is only ever handed to the kernel.


class DirectFile:
    """An open file, also as memory that must not be looked at here, only be given to system calls.

    Such memory is half the work for the kernel that reading into a buffer and sending from that is. `memory` is None
    where the file cannot be mapped.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None
        self.memory: memoryview | None = None
        if size:
            with contextlib.suppress(OSError, ValueError):
                self._map = mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ)
                # Without this, after many misses every page would be read from disk by itself.
                self._map.madvise(mmap.MADV_SEQUENTIAL)
                self.memory = memoryview(self._map)

    def close(self) -> None:
        """Closes the file, too."""
        if self.memory is not None:
            self.memory.release()
        if self._map is not None:
            # A piece of it may still be in the traceback of an error, with which it goes.
            with contextlib.suppress(BufferError):
                self._map.close()
        os.close(self.descriptor)
