"""Sessions with exports that wait for a network: several reads of a client are under way at once."""

import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from threading import BoundedSemaphore, Lock

from ingot.images.nbd import wire
from ingot.serve import commands
from ingot.serve.replies import SMALL, Broken, Replies
from ingot.serve.session import Agreed, Session
from ingot.serve.tally import Tally
from ingot.serve.transport import Transport

_log = logging.getLogger(__name__)

# What one client may have under way: QEMU and nbdcopy have 16 requests at once.
_WINDOW = 16


class ParallelSession(Session):
    """Only reading commands take part: such exports cannot be written to."""

    def __init__(self, transport: Transport, agreed: Agreed, tally: Tally, pool: Executor) -> None:
        super().__init__(transport, agreed, tally)
        self._pool = pool
        self._window = BoundedSemaphore(_WINDOW)
        self._spare: deque[Replies] = deque()
        self._counting = Lock()
        # No read is answered at once, however small.
        self._size = 0

    def run(self) -> None:
        try:
            super().run()
        finally:
            for _ in range(_WINDOW):
                self._window.acquire()

    def _any(self, magic: int, flags: int, command: int, cookie: int, start: int, length: int) -> bool:
        check = commands.check(self._export, self._agreed.context is not None, flags, command, start, length)
        slow = command in (wire.CMD_READ, wire.CMD_BLOCK_STATUS, wire.CMD_CACHE)
        if magic != wire.REQUEST_MAGIC or check or self._gone or not slow:
            return super()._any(magic, flags, command, cookie, start, length)

        def work(replies: Replies) -> None:
            if command != wire.CMD_READ:
                self._perform(replies, flags, command, cookie, start, length)
            elif length <= SMALL:
                replies.small(self._export, cookie, start, length)
            else:
                replies.long(self._export, cookie, start, length, bool(flags & wire.FLAG_DF))

        # Replies that wait for the end of this batch must not wait for a place in the window.
        self._replies.flush()
        self._window.acquire()
        self._pool.submit(self._job, command, length, work)
        return True

    def _job(self, command: int, length: int, work: Callable[[Replies], None]) -> None:
        began = time.perf_counter_ns()
        try:
            replies = self._borrow()
            work(replies)
            replies.flush()
            self._spare.append(replies)
            with self._counting:
                self._tally.requests[command] += 1
                self._tally.read += length if command == wire.CMD_READ else 0
                self._tally.answered(1, time.perf_counter_ns() - began)
        except (OSError, Broken):
            # The client is gone, or cannot be told what is wrong: the thread that receives ends with it.
            self._transport.end()
        except Exception:
            _log.exception("export %r: a request cannot be answered", self._agreed.lease.name)
            self._transport.end()
        finally:
            self._window.release()

    def _borrow(self) -> Replies:
        """Replies for one job, with a buffer that an earlier one had where there is one."""
        try:
            return self._spare.pop()
        except IndexError:
            return self._new_replies()
