"""Zeros, of which disks have more than of anything else."""

from ingot.images.blob import Bytes
from ingot.images.content import Content, read

_ZEROS = bytes(1 << 20)


def are_zeros(data: Bytes) -> bool:
    """Whether there is nothing but zeros in it."""
    view = memoryview(data).cast("B")
    # Of all comparisons only this one takes a memoryview as it is, and ten times less time than to count zeros.
    return all(_ZEROS.startswith(view[at : at + len(_ZEROS)]) for at in range(0, len(view), len(_ZEROS)))


def is_zeros(content: Content, start: int, end: int) -> bool:
    """Whether there is nothing but zeros from `start` to `end`; read in little memory. Raises ImageFault."""
    step = len(_ZEROS)
    return all(are_zeros(read(content, at, min(step, end - at))) for at in range(start, end, step))
