"""The thread that makes writes durable, many to a commit."""

import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence

from ingot.standalone.store.database import Database, Row

Settled = Callable[[Sequence[Row], Exception | None], None]


class Writer:
    """Takes rows from the event loop, commits whatever has gathered, and tells the loop batch by batch.

    `settled(rows, error)` runs in the loop, in the order of the rows; after an error no later row is written
    until `resume` was called, because rows that were submitted meanwhile may build on those that were lost.
    """

    def __init__(self, database: Database, loop: AbstractEventLoop, settled: Settled) -> None:
        self._database = database
        self._loop = loop
        self._settled = settled
        self._rows: list[Row] = []
        self._wake = threading.Condition()
        self._stopping = False
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, row: Row) -> None:
        with self._wake:
            self._rows.append(row)
            self._wake.notify()

    def resume(self) -> None:
        """Drops what was submitted since the failure and writes again."""
        with self._wake:
            self._rows.clear()
            self._failed = False

    def stop(self) -> None:
        """Writes what is left and ends the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _take(self) -> list[Row]:
        with self._wake:
            while (not self._rows or self._failed) and not self._stopping:
                self._wake.wait()
            rows, self._rows = self._rows, []
            return [] if self._failed else rows

    def _run(self) -> None:
        while rows := self._take():
            error: Exception | None = None
            try:
                self._database.commit(rows, rows[-1].revision)
            except Exception as problem:
                error = problem
                with self._wake:
                    self._failed = True
            self._loop.call_soon_threadsafe(self._settled, rows, error)
