"""Content into a target: several threads, each with a unit at a time, and a journal of what is done."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from ingot.images.content import Content
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.buffer import Buffer
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.plan import UNIT, Piece, Plan, joined
from ingot.images.pipeline.target import Target, write_sparse

# More than there are CPUs: most of the time a thread waits for the network or for a lock of the kernel.
WORKERS = 4
# Units that a thread copies in one turn at most; and for how long, so that little is lost by a kill.
_TURN = 64
_TURN_SECONDS = 0.2
# What is copied at once where there is one thread and no journal.
_AT_ONCE = 2 << 20
# How often what is done is written down; and, for the loss of the machine, brought to the disk first.
SAVE_SECONDS = 0.25
SYNC_SECONDS = 15.0


class Copier:
    """One copy of `content`."""

    spooled = 0

    def __init__(self, content: Content, target: Target, plan: Plan) -> None:
        self._content = content
        self._target = target
        self._plan = plan
        self._finished: SimpleQueue[int | BaseException | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._stop = False
        # Units that a thread copies in one turn at least.
        self._least = max(target.together // UNIT, 1)
        self._done = bytearray(-(-len(plan) // 8))
        # The units that nobody has taken, and how many they are.
        self._waiting: Iterator[int] = iter(())
        self._left = 0
        self.total = plan.total
        self.moved = 0
        self.written = 0

    def resume(self, state: State) -> bool:
        """Takes up what an earlier copy has done; False when that was by another plan."""
        if state.plan != self._plan.digest or len(state.done) != len(self._done):
            return False
        self._done[:] = state.done
        self.moved = sum(self._plan.size(index) for index in range(len(self._plan)) if self._is_done(index))
        return True

    def run(self, journal: Journal, bounds: Bounds, progress: Callable[[int, int], None]) -> int:
        """Copies what is not done; the size of the disk. Raises ImageFault and OSError, with all threads ended."""
        self._waiting = (index for index in range(len(self._plan)) if not self._is_done(index))
        self._left = len(self._plan) - int.from_bytes(self._done, "big").bit_count()
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(WORKERS, self._left))]
        progress(self.moved, self.total)
        for thread in threads:
            thread.start()
        try:
            self._follow(len(threads), journal, progress)
        except (ImageFault, KeyboardInterrupt):
            self._end(threads)
            self._take_finished()
            journal.save(self._state())
            raise
        finally:
            self._end(threads)
        return self._content.size

    def _end(self, threads: list[threading.Thread]) -> None:
        self._stop = True
        for thread in threads:
            thread.join()

    def _take_finished(self) -> None:
        """What the threads had finished before they ended."""
        while not self._finished.empty():
            finished = self._finished.get()
            if isinstance(finished, int):
                self._mark(finished)

    def _work(self) -> None:
        """Takes several units in one turn where that is quick: a request costs servers much, however small it is."""
        buffer = Buffer(_TURN * UNIT)
        count = self._least
        try:
            while indexes := self._next(count):
                began = time.monotonic()
                self._copy([self._plan.unit(index) for index in indexes], buffer)
                for index in indexes:
                    self._finished.put(index)
                quick = time.monotonic() - began < _TURN_SECONDS
                count = min(4 * count, _TURN) if quick else max(count // 2, self._least)
            self._finished.put(None)
        except BaseException as error:
            self._finished.put(error)

    def _next(self, count: int) -> list[int]:
        """The next units, at most so many; fewer near the end, so that there is something for all."""
        with self._lock:
            if self._stop:
                return []
            taken = list(itertools.islice(self._waiting, min(count, max(-(-self._left // WORKERS), self._least))))
            self._left -= len(taken)
            return taken

    def _copy(self, units: list[list[Piece]], buffer: Buffer) -> None:
        written = 0
        for piece in joined(units, _TURN * UNIT):
            self._content.readinto(piece.start, buffer.place(piece.start, piece.length))
            written += write_sparse(self._target, piece.start, buffer, piece.length)
        with self._lock:
            self.written += written

    def _follow(self, running: int, journal: Journal, progress: Callable[[int, int], None]) -> None:
        """Counts what the threads finish until they all have. What is done is written down soon, whether or not more
        comes: a line may be cut for long."""
        saved = synced = time.monotonic()
        kept = True
        while running:
            try:
                finished = self._finished.get(timeout=None if kept else SAVE_SECONDS)
            except Empty:
                journal.save(self._state())
                saved, kept = time.monotonic(), True
                continue
            if finished is None:
                running -= 1
                continue
            if isinstance(finished, BaseException):
                raise finished
            self._mark(finished)
            progress(self.moved, self.total)
            now, kept = time.monotonic(), False
            if now - synced >= SYNC_SECONDS:
                state = self._state()
                self._target.sync()
                journal.save_durable(state)
                saved, kept = time.monotonic(), True
                synced = saved
            elif now - saved >= SAVE_SECONDS:
                journal.save(self._state())
                saved, kept = time.monotonic(), True

    def _mark(self, index: int) -> None:
        self._done[index >> 3] |= 1 << (index & 7)
        self.moved += self._plan.size(index)

    def _is_done(self, index: int) -> bool:
        return bool(self._done[index >> 3] >> (index & 7) & 1)

    def _state(self) -> State:
        # The target's state is taken last: it has all that is done by then, and perhaps more.
        done = bytes(self._done)
        return State(plan=self._plan.digest, done=done, clusters=self._target.state(), moved=self.moved)


def copy(content: Content, subject: str, write: Callable[[int, memoryview], None]) -> None:
    """Gives all data of it to `write`, in the order of the storage; `subject` names it in errors. Raises ImageFault and
    what `write` raises."""
    buffer = memoryview(bytearray(_AT_ONCE))
    plan = Plan(content, subject)
    for piece in joined(map(plan.unit, range(len(plan))), _AT_ONCE):
        content.readinto(piece.start, buffer[: piece.length])
        write(piece.start, buffer[: piece.length])
