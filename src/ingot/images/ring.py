"""Buffers that are used again in turn."""


class Ring:
    """`count` buffers of `size` bytes, which are made when they are first needed: to make one costs as much as to fill
    it. What was put into one is good until the `count`th call after the one that gave it."""

    def __init__(self, count: int, size: int) -> None:
        self._count = count
        self._size = size
        self._buffers: list[memoryview] = []
        self._turn = 0

    def next(self) -> memoryview:
        if len(self._buffers) < self._count:
            self._buffers.append(memoryview(bytearray(self._size)))
            return self._buffers[-1]
        self._turn = (self._turn + 1) % self._count
        return self._buffers[self._turn - 1]
