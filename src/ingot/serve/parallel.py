"""Sessions with exports that wait for a network: several reads of a client are under way at once."""

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from queue import SimpleQueue

from ingot.images.content import NotNear
from ingot.images.nbd import wire
from ingot.serve import commands
from ingot.serve.pool import Pool
from ingot.serve.replies import PIECE, SMALL, Broken, Replies, StructuredReplies
from ingot.serve.session import Agreed, Hangup, Session
from ingot.serve.tally import Tally
from ingot.serve.transport import Transport

_log = logging.getLogger(__name__)

# What one client may have under way: QEMU and nbdcopy have 16 requests at once.
_WINDOW = 16
_OVER = object()


@dataclass(slots=True)
class _Job:
    """A request under way. Each of its steps leaves something to be sent; `over`: that was the last one. `alone`: its
    only step also sends, so that nothing comes between the pieces of a simple reply."""

    command: int
    length: int
    replies: Replies
    steps: Iterator[None]
    alone: bool
    began: int
    over: bool = False


class ParallelSession(Session):
    """Only reading commands take part: such exports cannot be written to.

    The threads of the pool fetch, and a thread of the session sends what they have fetched: a client who does not take
    its replies holds none of the pool, and a PIECE of memory at most for each request of its window.
    """

    def __init__(self, transport: Transport, agreed: Agreed, tally: Tally, pool: Pool) -> None:
        super().__init__(transport, agreed, tally)
        self._pool = pool
        self._window = threading.BoundedSemaphore(_WINDOW)
        self._outbox: SimpleQueue[_Job | None] = SimpleQueue()
        self._lost = False
        # Requests of a batch that are answered later.
        self._later = 0
        # No read is answered at once, however small.
        self._size = 0

    def run(self) -> None:
        sender = threading.Thread(target=self._send_all, daemon=True)
        try:
            sender.start()
        except RuntimeError as error:
            raise Hangup(f"nobody can send its replies: {error}") from error
        try:
            super().run()
        finally:
            for _ in range(_WINDOW):
                self._window.acquire()
            self._outbox.put(None)
            sender.join()

    def _batch(self) -> int:
        self._later = 0
        count = super()._batch()
        return count - self._later if count >= 0 else count + self._later

    def _any(self, magic: int, flags: int, command: int, cookie: int, start: int, length: int) -> bool:
        check = commands.check(self._export, self._agreed.context is not None, flags, command, start, length)
        slow = command in (wire.CMD_READ, wire.CMD_BLOCK_STATUS, wire.CMD_CACHE)
        if magic != wire.REQUEST_MAGIC or check or self._gone or not slow:
            return super()._any(magic, flags, command, cookie, start, length)
        if self._lost:
            raise ConnectionAbortedError("it takes no replies any more")
        if command == wire.CMD_READ and length <= PIECE and self._at_once(cookie, start, length):
            return True
        # Replies that wait for the end of this batch must not wait for a place in the window.
        self._replies.flush()
        self._window.acquire()
        self._later += 1
        replies = self._new_replies(min(length, PIECE) if command == wire.CMD_READ else SMALL)
        steps = self._steps(replies, flags, command, cookie, start, length)
        alone = command == wire.CMD_READ and length > PIECE and not self._agreed.structured
        job = _Job(command, length, replies, steps, alone, time.perf_counter_ns())
        if alone:
            self._outbox.put(job)
        else:
            self._submit(job)
        return True

    def _at_once(self, cookie: int, start: int, length: int) -> bool:
        """Replies from memory: that is done sooner than it is handed to other threads. Whether it could be."""
        if self._export.near is None:
            return False
        try:
            self._replies.small(self._export.near, cookie, start, length)
        except NotNear:
            return False
        self._tally.requests[wire.CMD_READ] += 1
        self._tally.read += length
        return True

    def _steps(
        self, replies: Replies, flags: int, command: int, cookie: int, start: int, length: int
    ) -> Iterator[None]:
        if command != wire.CMD_READ:
            self._perform(replies, flags, command, cookie, start, length)
        elif length <= PIECE:
            replies.small(self._export, cookie, start, length)
        elif isinstance(replies, StructuredReplies):
            yield from replies.pieces(self._export, cookie, start, length, bool(flags & wire.FLAG_DF))
        else:
            replies.long(self._export, cookie, start, length, whole=True)

    def _submit(self, job: _Job) -> None:
        try:
            self._pool.submit(self._fetch, job)
        except RuntimeError as error:
            _log.error("export %r: a request cannot be answered: %s", self._agreed.lease.name, error)
            self._give_up()

    def _fetch(self, job: _Job) -> None:
        """Takes the next step of a request, and has what it leads to sent."""
        try:
            self._step(job)
        except Exception:
            _log.exception("export %r: a request cannot be answered", self._agreed.lease.name)
            self._give_up()
        else:
            self._outbox.put(job)

    def _step(self, job: _Job) -> None:
        job.over = next(job.steps, _OVER) is _OVER

    def _send_all(self) -> None:
        while (job := self._outbox.get()) is not None:
            try:
                self._send(job)
            except (OSError, Broken):
                # The client is gone, or cannot be told what is wrong: the thread that receives ends with it.
                self._give_up()
            except Exception:
                _log.exception("export %r: a reply cannot be sent", self._agreed.lease.name)
                self._give_up()

    def _send(self, job: _Job) -> None:
        if job.alone:
            self._step(job)
        job.replies.flush()
        if not job.over:
            self._submit(job)
            return
        self._tally.requests[job.command] += 1
        self._tally.read += job.length if job.command == wire.CMD_READ else 0
        self._tally.answered(1, time.perf_counter_ns() - job.began)
        self._window.release()

    def _give_up(self) -> None:
        """Ends the session in the middle of a request."""
        self._lost = True
        self._transport.end()
        self._window.release()
