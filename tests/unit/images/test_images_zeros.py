"""Zeros are told from other bytes, however many there are, in little memory."""

from collections.abc import Iterator

import pytest

from ingot.images.content import Extent
from ingot.images.repush import same_file
from ingot.images.zeros import are_zeros, is_zeros
from ingot.images.zstd_chunked.pieces import Pieces

SIZE = 64 << 20


class Hole:
    """64 MiB of zeros, but for one byte at `other`. `most`: the largest piece that was read of it."""

    size = SIZE

    def __init__(self, other: int | None = None) -> None:
        self._other = other
        self.most = 0

    def readinto(self, start: int, buffer: memoryview) -> None:
        self.most = max(self.most, len(buffer))
        assert start + len(buffer) <= SIZE
        if self._other is not None and 0 <= self._other - start < len(buffer):
            buffer[self._other - start] = 1

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        yield Extent(start, end - start, True, start)

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("length", [0, 1, 1000, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_zeros_and_others(length: int) -> None:
    data = bytearray(length)
    assert are_zeros(data)
    assert are_zeros(memoryview(data)[length // 3 :])
    for place in {0, length // 2, length - 1} if length else set():
        data[place] = 1
        assert not are_zeros(data)
        assert not are_zeros(memoryview(data))
        data[place] = 0


def test_a_part_of_content() -> None:
    content = Hole(SIZE - 5)
    assert is_zeros(content, 1, SIZE - 5)
    assert not is_zeros(content, 1, SIZE - 4)
    assert is_zeros(content, SIZE - 4, SIZE)
    assert content.most <= 1 << 20


@pytest.mark.parametrize("other", [None, 0, SIZE // 2, SIZE - 1])
def test_a_file_is_compared_with_the_largest_hole_in_little_memory(other: int | None) -> None:
    pieces, content = Pieces(), Hole(other)
    pieces.append_zeros(SIZE)
    assert same_file(content, pieces, lambda done, whole: None) is (other is None)
    assert content.most <= 4 << 20
