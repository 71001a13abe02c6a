"""A part of the server that works off keys: one at a time, failed ones again later."""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

from ingot.kube.queue import Queue
from ingot.standalone.store.history import Change
from ingot.standalone.store.store import Store

K = TypeVar("K", bound=Hashable)
log = logging.getLogger(__name__)


class Worker(ABC, Generic[K]):
    """Hears every change of the store, and works off the keys that it put into its queue."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.queue: Queue[K] = Queue()
        self._forget = store.listen(self.on_change)
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def on_change(self, change: Change) -> None:
        """Adds the keys that the change concerns; must be quick, for it runs in the commit."""

    @abstractmethod
    async def work(self, key: K) -> None:
        """Takes one idempotent step; is called again later if it raises."""

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._forget()
        self.queue.close()
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                await self.work(key)
                self.queue.forget(key)
            except Exception:
                delay = self.queue.retry(key)
                log.exception("%s: %s failed, again in %.1f s", type(self).__name__, key, delay)
            finally:
                self.queue.done(key)
