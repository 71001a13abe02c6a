"""Writing behind: bytes that come in order are gathered, and written by a thread while the next ones come."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from ingot.images.pipeline.buffer import Buffer
from ingot.images.pipeline.target import Target, write_sparse

_SIZE = 2 << 20
_BUFFERS = 4


class Writer:
    """Puts bytes into a target, in their order. For one thread; `close` it whatever happens."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._free: SimpleQueue[Buffer] = SimpleQueue()
        for _ in range(_BUFFERS):
            self._free.put(Buffer(_SIZE))
        self._jobs: SimpleQueue[tuple[Callable[[], None], Buffer | None] | None] = SimpleQueue()
        self._current = self._free.get()
        self._start = self._length = 0
        self._failed: BaseException | None = None
        self.written = 0
        self._thread = threading.Thread(target=self._work, name="write", daemon=True)
        self._thread.start()

    def put(self, start: int, data: memoryview) -> None:
        """Writes `data` at `start`, sooner or later; `data` may be changed at once. Raises what an earlier write has
        raised."""
        while len(data):
            if start != self._start + self._length or self._length == _SIZE:
                self._flush()
                self._start = start
            count = min(len(data), _SIZE - self._length)
            self._current.place(self._start, self._length + count)[self._length :] = data[:count]
            self._length += count
            start += count
            data = data[count:]

    def then(self, work: Callable[[], None]) -> None:
        """Does `work` in the writing thread when all that was put before is written."""
        self._flush()
        self._jobs.put((work, None))

    def finish(self) -> None:
        """Returns when all is written. Raises what a write has raised."""
        self._flush()
        self._end()
        self._check()

    def close(self) -> None:
        """Ends the thread; what is not written yet need not be."""
        self._failed = self._failed or RuntimeError("closed")
        self._end()

    def _end(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _flush(self) -> None:
        self._check()
        if not self._length:
            return
        buffer, start, length = self._current, self._start, self._length
        self._jobs.put((lambda: self._write(buffer, start, length), buffer))
        self._current = self._free.get()
        self._length = 0

    def _check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _write(self, buffer: Buffer, start: int, length: int) -> None:
        self.written += write_sparse(self._target, start, buffer, length)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, buffer = job
            try:
                if self._failed is None:
                    work()
            except BaseException as error:
                self._failed = error
            if buffer is not None:
                self._free.put(buffer)
