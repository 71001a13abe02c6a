"""Threads that wait for networks, shared by all clients of an export."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_log = logging.getLogger(__name__)


class Pool:
    """Does work in at most `most` threads, begun when there is work for them. Work must not wait for a client: a few
    who do nothing would keep all others from theirs."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._pending = 0
        self._threads: list[threading.Thread] = []

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        """Has it done soon. Raises RuntimeError when there is no thread at all, and none can be started."""
        with self._lock:
            if self._pending >= len(self._threads) < self._most:
                self._grow()
            self._pending += 1
        self._work.put(lambda: function(*arguments))

    def close(self) -> None:
        """Returns when what was submitted is done. Nothing may be submitted any more."""
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _grow(self) -> None:
        thread = threading.Thread(target=self._run, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # With fewer threads than there might be, it takes longer.
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception:
                _log.exception("work for a client failed")
            with self._lock:
                self._pending -= 1
