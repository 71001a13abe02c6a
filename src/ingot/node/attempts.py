"""Attempts to start a guest: what stands in the way is told, everything is let go, and it is tried again in time."""

import asyncio
import contextlib
import logging
import re
from typing import NamedTuple

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.disks.fault import DiskFault
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.transport import ConnectionFailed
from ingot.node.chain import Chains
from ingot.node.ending import Endings
from ingot.node.link import HypervisorError
from ingot.node.record import Record
from ingot.node.starting import Abandoned, Started, Starter, StartTimeout, Unsupported
from ingot.node.telling import Teller

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
# Whoever hangs keeps a call to libvirt busy; those that answer go first.
SLOW_RETRY_SECONDS = 60.0


class _Obstacle(NamedTuple):
    """What stands in the way of a start, for a condition and an event, and when to try again."""

    reason: str
    message: str
    wait: float = RETRY_SECONDS
    volume: str = ""


class Attempts:
    """Tries to start guests."""

    def __init__(
        self, starter: Starter, chains: Chains, endings: Endings, teller: Teller, clock: Clock = SYSTEM
    ) -> None:
        self._starter = starter
        self._chains = chains
        self._endings = endings
        self._teller = teller
        self._clock = clock

    def abandon(self, uid: str) -> None:
        """Nobody wants that instance's guest any more: breaks off its start, if one is under way."""
        self._starter.abandon(uid)

    async def start(self, instance: Object, record: Record) -> float | None:
        """Starts the guest; in how many seconds to look again when that did not work, None when it did."""
        wait = record.next_try - self._clock.monotonic()
        if wait > 0:
            # What we tell of a failure wakes us: that alone is no reason to try again.
            return wait
        try:
            await self._endings.bury(record)
            self._endings.forget(record.domain)
            record.volumes = (await self._started(instance, record)).volumes
            record.save()
        except Abandoned:
            return 0.0
        except (ApiError, ConnectionFailed):
            raise
        except Exception as error:
            if isinstance(error, HypervisorError) and error.lost:
                raise
            obstacle = _obstacle(error, record)
            record.next_try = self._clock.monotonic() + obstacle.wait
            await self._chains.retreat(record)
            await self._teller.refused(instance, obstacle.reason, obstacle.message, obstacle.volume)
            return obstacle.wait
        return None

    async def _started(self, instance: Object, record: Record) -> Started:
        """Starts the guest, and tells meanwhile how far its copies are."""
        done: dict[str, tuple[int, int]] = {}

        def progress(volume: str, count: int, total: int) -> None:
            done[volume] = (count, total)

        following = asyncio.create_task(self._teller.follow(instance, done))
        try:
            return await self._starter.start(instance, record, progress)
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError, ApiError, ConnectionFailed):
                await following


def _obstacle(error: Exception, record: Record) -> _Obstacle:
    again = f"; tried again in {RETRY_SECONDS:g} s"
    match error:
        case DiskFault():
            wait = RETRY_SECONDS if error.retry is None else error.retry
            return _Obstacle(error.reason, error.message, wait, error.volume)
        case Unsupported():
            return _Obstacle("NotSupported", f"this node cannot run it: {error}")
        case StartTimeout():
            return _Obstacle("Unreachable", f"{error}; tried again in {SLOW_RETRY_SECONDS:g} s", SLOW_RETRY_SECONDS)
        case HypervisorError():
            return _Obstacle("DomainStartFailed", plain(error.message) + again)
        case _:
            log.error("%s: an error that nobody foresaw", record.key, exc_info=error)
            what = f"internal error ({type(error).__name__}: {error}), see the agent's log"
            return _Obstacle("InternalError", what + again)


def plain(message: str) -> str:
    """libvirt's words without the moment and the number, which differ at each try."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z qemu-system-\w+: |(?<=domain)-\d+(?=-)", "", message)
