"""The chunks that were read last, kept in memory."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from ingot.images.chunk import Chunk, Chunks


class Recent:
    """Chunks from elsewhere, of which the last `count` are kept. Who asks for one that somebody else is fetching
    waits for that. Any number of threads may ask."""

    def __init__(self, chunks: Chunks, count: int) -> None:
        self._chunks = chunks
        self._count = count
        self._lock = threading.Lock()
        self._kept: OrderedDict[Chunk, Future[bytes | memoryview]] = OrderedDict()

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[bytes | memoryview]:
        # In groups, so that a long list does not take more memory than is kept.
        for start in range(0, len(chunks), self._count):
            group = chunks[start : start + self._count]
            futures, missing = self._look(group)
            self._fetch(missing)
            for future in futures:
                yield future.result()

    def _look(
        self, chunks: Sequence[Chunk]
    ) -> tuple[list[Future[bytes | memoryview]], list[tuple[Chunk, Future[bytes | memoryview]]]]:
        """The futures of these chunks, and those among them that nobody fetches yet."""
        futures, missing = [], []
        with self._lock:
            for chunk in chunks:
                future = self._kept.get(chunk)
                if future is None:
                    future = self._kept[chunk] = Future()
                    missing.append((chunk, future))
                self._kept.move_to_end(chunk)
                futures.append(future)
            while len(self._kept) > self._count:
                self._kept.popitem(last=False)
        return futures, missing

    def _fetch(self, missing: list[tuple[Chunk, Future[bytes | memoryview]]]) -> None:
        waiting = list(missing)
        try:
            contents = self._chunks.fetch([chunk for chunk, _ in missing])
            for (_, future), content in zip(missing, contents, strict=True):
                future.set_result(content)
                waiting.pop(0)
        except BaseException as error:
            with self._lock:
                for chunk, future in waiting:
                    future.set_exception(error)
                    # What failed once may succeed next time.
                    if self._kept.get(chunk) is future:
                        del self._kept[chunk]
            raise
