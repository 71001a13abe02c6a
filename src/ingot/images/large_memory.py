"""Memory for many bytes on their way."""

import contextlib
import mmap


def large_memory(size: int) -> mmap.mmap:
    """Room for `size` bytes, which begins where a page does.

    It is taken from the kernel as it is used, in large pages where there are any: a bytearray is filled with zeros
    first, a small page at a time, while all threads wait.
    """
    memory = mmap.mmap(-1, size)
    # Kernels without large pages know no such advice.
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
