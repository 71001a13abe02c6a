"""A controller: keys go in where something changed, `reconcile` makes the world right for each."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self, TypeAlias

from ingot.api.object import Object, namespace_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.cache import Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.informer import Informer
from ingot.kube.objects import controller_of, refers_to_kind
from ingot.kube.queue import Queue
from ingot.kube.transport import ConnectionFailed

log = logging.getLogger(__name__)

# Which keys to look at again when an object has come, changed or gone.
Mapper: TypeAlias = Callable[[Object], Iterable[Key]]


@dataclass(frozen=True, slots=True)
class Result:
    requeue_after: float


class Final(Exception):
    """Raised by `reconcile` when trying again is of no use until something changes."""


class Reconcile(Protocol):
    async def __call__(self, key: Key) -> Result | None:
        """Bring the world one step closer to what the object of that key asks for.

        It reads what is, compares it with what should be and takes an idempotent step. It is not told what has
        happened: many changes may be one call, one change several, and the object may be gone. It never runs
        twice at a time for one key. It ends in one of four ways:

        1. It returns None: all is as it should be. It is called again when something changes.
        2. It returns Result(requeue_after=s): it is called again after s seconds, or when something changes.
        3. It raises Final: that is logged, and it is called again when something changes.
        4. It raises anything else: that is logged, and it is called again after a wait that doubles with every
           failure, or when something changes. After a success the wait starts small again.

        It may be cancelled at any await, and called again from the beginning by another process.
        """


class Outcome(StrEnum):
    DONE = "done"
    REQUEUED = "requeued"
    FINAL = "final"
    CONFLICT = "conflict"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Observation:
    """One call of `reconcile`, for metrics: how it ended, how long it took, how many keys wait."""

    controller: str
    key: Key
    outcome: Outcome
    seconds: float
    waiting: int


def _unobserved(_: Observation) -> None:
    """For those who keep no metrics."""


class Controller:
    """Calls `reconcile` for every key that its informers name, `workers` at a time."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        workers: int = 1,
        clock: Clock = SYSTEM,
    ) -> None:
        self.name = name
        self.queue: Queue[Key] = Queue(clock=clock)
        # Told of every call of `reconcile`.
        self.observe: Callable[[Observation], None] = _unobserved
        self._reconcile = reconcile
        self._workers = workers
        self._clock = clock
        self._ready: list[Callable[[], Awaitable[None]]] = []

    def watch(self, informer: Informer, mapper: Mapper = lambda obj: (key_of(obj),)) -> Self:
        """Look at the keys that `mapper` gives for each changed object; by default at the object itself.

        Both the old and the new version are mapped, so that whoever lost an object hears of it too.
        """

        def enqueue(old: Object | None, new: Object | None) -> None:
            keys = dict.fromkeys(key for obj in (old, new) if obj for key in mapper(obj))
            for key in keys:
                self.queue.add(key)

        informer.add_handler(enqueue)
        return self.after(informer.wait_synced)

    def own(self, informer: Informer, owner: Resource) -> Self:
        """Look at the `owner` of each changed object whose controller reference is to that kind."""

        def owners(obj: Object) -> Iterable[Key]:
            reference = controller_of(obj)
            if reference and refers_to_kind(reference, owner.group, owner.kind):
                yield Key(namespace_of(obj) if owner.namespaced else "", reference["name"])

        return self.watch(informer, owners)

    def after(self, ready: Callable[[], Awaitable[None]]) -> Self:
        """Begin only when `ready` has returned, for what is to be known besides the watched caches."""
        self._ready.append(ready)
        return self

    async def run(self) -> None:
        """Work until `stop`, beginning when all caches have been filled."""
        for ready in self._ready:
            await ready()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    def stop(self) -> None:
        """Begin nothing new. `run` returns when what has begun is done."""
        self.queue.close()

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            began = self._clock.monotonic()
            try:
                outcome = await self._step(key)
            finally:
                self.queue.done(key)
            seconds = self._clock.monotonic() - began
            self.observe(Observation(self.name, key, outcome, seconds, len(self.queue)))

    async def _step(self, key: Key) -> Outcome:
        try:
            result = await self._reconcile(key)
        except Final as error:
            self.queue.forget(key)
            log.error("%s: %s: %s; final until it changes", self.name, key, error)
            return Outcome.FINAL
        except Exception as error:
            return self._failed(key, error)
        self.queue.forget(key)
        if result is None:
            return Outcome.DONE
        self.queue.add_after(key, result.requeue_after)
        return Outcome.REQUEUED

    def _failed(self, key: Key, error: Exception) -> Outcome:
        delay = self.queue.retry(key)
        if isinstance(error, ApiError) and error.reason == "Conflict":
            # Somebody wrote while we were reading: the ordinary case of optimistic locking.
            log.debug("%s: %s: %s; again in %.3g s", self.name, key, error, delay)
            return Outcome.CONFLICT
        if isinstance(error, ApiError | ConnectionFailed):
            log.warning("%s: %s: %s; again in %.3g s", self.name, key, error, delay)
        else:
            log.error("%s: %s: %r; again in %.3g s", self.name, key, error, delay, exc_info=error)
        return Outcome.FAILED
