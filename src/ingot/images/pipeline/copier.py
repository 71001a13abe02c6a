"""Content into a target: several threads, each with a unit at a time, and a journal of what is done."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from ingot.images.content import Content
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.plan import UNIT, Piece, Plan
from ingot.images.pipeline.target import Target, write_sparse

# More than there are CPUs: most of the time a thread waits for the network or for a lock of the kernel.
WORKERS = 4
# How often what is done is written down; and, for the loss of the machine, brought to the disk first.
_SAVE_SECONDS = 0.25
_SYNC_SECONDS = 15.0


class Copier:
    """One copy of `content`. `clusters` tells what the target itself wants remembered, with what is done."""

    def __init__(self, content: Content, target: Target, plan: Plan, journal: Journal) -> None:
        self._content = content
        self._target = target
        self._plan = plan
        self._journal = journal
        self._finished: SimpleQueue[int | BaseException | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._stop = False
        self._done = bytearray(-(-len(plan.units) // 8))
        self._left: list[int] = []
        self.total = plan.total
        self.moved = 0
        self.written = 0

    def resume(self, state: State) -> bool:
        """Takes up what an earlier copy has done; False when that was by another plan."""
        if state.plan != self._plan.digest or len(state.done) != len(self._done):
            return False
        self._done[:] = state.done
        self.moved = sum(size for index, size in enumerate(self._plan.sizes) if self._is_done(index))
        return True

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Copies what is not done. Raises ImageFault and OSError, with all threads ended; what is done stays done."""
        self._left = [index for index in reversed(range(len(self._plan.units))) if not self._is_done(index)]
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(WORKERS, len(self._left)))]
        progress(self.moved, self.total)
        for thread in threads:
            thread.start()
        try:
            self._follow(len(threads), progress)
        finally:
            self._stop = True
            for thread in threads:
                thread.join()
            self._save()

    def _work(self) -> None:
        buffer = bytearray(UNIT)
        try:
            while (index := self._next()) is not None:
                self._copy(self._plan.units[index], buffer)
                self._finished.put(index)
            self._finished.put(None)
        except BaseException as error:
            self._finished.put(error)

    def _next(self) -> int | None:
        with self._lock:
            return self._left.pop() if self._left and not self._stop else None

    def _copy(self, unit: list[Piece], buffer: bytearray) -> None:
        written = 0
        with memoryview(buffer) as view:
            for piece in unit:
                self._content.readinto(piece.start, view[: piece.length])
                written += write_sparse(self._target, piece.start, buffer, piece.length)
        with self._lock:
            self.written += written

    def _follow(self, running: int, progress: Callable[[int, int], None]) -> None:
        """Counts what the threads finish until they all have."""
        saved = synced = time.monotonic()
        while running:
            finished = self._finished.get()
            if finished is None:
                running -= 1
                continue
            if isinstance(finished, BaseException):
                raise finished
            self._done[finished >> 3] |= 1 << (finished & 7)
            self.moved += self._plan.sizes[finished]
            progress(self.moved, self.total)
            now = time.monotonic()
            if now - synced >= _SYNC_SECONDS:
                state = self._state()
                self._target.sync()
                self._journal.save_durable(state)
                saved = synced = time.monotonic()
            elif now - saved >= _SAVE_SECONDS:
                self._save()
                saved = time.monotonic()

    def _is_done(self, index: int) -> bool:
        return bool(self._done[index >> 3] >> (index & 7) & 1)

    def _state(self) -> State:
        return State(plan=self._plan.digest, done=bytes(self._done), moved=self.moved)

    def _save(self) -> None:
        self._journal.save(self._state())
