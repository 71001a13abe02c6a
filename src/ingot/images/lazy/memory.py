"""Chunks in memory, those used last."""

import threading
from collections import OrderedDict

MEMORY = 64 << 20


class Memory:
    """At most `limit` bytes of chunks by number. Any number of threads may use it."""

    def __init__(self, limit: int = MEMORY) -> None:
        self._limit = limit
        self._size = 0
        self._lock = threading.Lock()
        self._chunks: OrderedDict[int, bytes | memoryview] = OrderedDict()

    def __contains__(self, number: int) -> bool:
        return number in self._chunks

    def get(self, number: int) -> bytes | memoryview | None:
        with self._lock:
            data = self._chunks.get(number)
            if data is not None:
                self._chunks.move_to_end(number)
            return data

    def put(self, number: int, data: bytes | memoryview) -> None:
        with self._lock:
            if number in self._chunks:
                return
            self._chunks[number] = data
            self._size += len(data)
            while self._size > self._limit:
                _, oldest = self._chunks.popitem(last=False)
                self._size -= len(oldest)
