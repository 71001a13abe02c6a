"""Probes: which containers are ready, and the end of those that are not alive."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ingot.api.object import Object, uid_of
from ingot.api.status import ApiError
from ingot.kube.cache import key_of
from ingot.kube.events import Recorder
from ingot.kube.transport import ConnectionFailed
from ingot.standalone.pods.attempt import Attempt
from ingot.standalone.pods.checks import Inside, check
from ingot.standalone.pods.downward import address_of
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.view import View

log = logging.getLogger(__name__)

_KINDS = ("startupProbe", "livenessProbe", "readinessProbe")
# How a command is run in a container's attempt.
Enter = Callable[[Object, Object, Attempt, list[str]], Awaitable[Inside]]


@dataclass(slots=True)
class _Probed:
    """A running attempt of a container that has probes."""

    pod: Object
    view: View
    attempt: Attempt
    wake: Callable[[], None]
    ready: bool
    task: asyncio.Task[None] | None = field(default=None)


class Probes:
    """Asks the containers that want to be asked, for as long as they run."""

    def __init__(self, enter: Enter, events: Recorder) -> None:
        self._enter = enter
        self._events = events
        self._probed: dict[tuple[str, str], _Probed] = {}

    def follow(self, pod: Object, view: View, wake: Callable[[], None]) -> bool:
        """Begins to ask a running container that has probes; whether it is ready. A change of that calls `wake`."""
        if view.attempt is None or not any(view.container.get(kind) for kind in _KINDS):
            return True
        known = self._probed.get((uid_of(pod), view.name))
        if known is None or known.attempt.number != view.attempt.number:
            self._drop(uid_of(pod), view.name)
            known = _Probed(pod, view, view.attempt, wake, ready=not _delays(view.container))
            known.task = asyncio.create_task(self._run(known))
            self._probed[uid_of(pod), view.name] = known
        return known.ready

    def forget(self, uid: str) -> None:
        """Asks no more: the pod is over."""
        for known in [name for owner, name in self._probed if owner == uid]:
            self._drop(uid, known)

    def _drop(self, uid: str, name: str) -> None:
        known = self._probed.pop((uid, name), None)
        if known is not None and known.task is not None:
            known.task.cancel()

    async def _run(self, probed: _Probed) -> None:
        container = probed.view.container
        if startup := container.get("startupProbe"):
            if not await self._until(probed, startup, well=True):
                await self._kill(probed, "startup")
                return
            self._set(probed, "readinessProbe" not in container)
        async with asyncio.TaskGroup() as group:
            if liveness := container.get("livenessProbe"):
                group.create_task(self._live(probed, liveness))
            if readiness := container.get("readinessProbe"):
                group.create_task(self._ready(probed, readiness))

    async def _live(self, probed: _Probed, probe: Object) -> None:
        await self._until(probed, {**probe, "successThreshold": None}, well=False)
        await self._kill(probed, "liveness")

    async def _ready(self, probed: _Probed, probe: Object) -> None:
        while True:
            await self._until(probed, {**probe, "failureThreshold": None}, well=True)
            self._set(probed, True)
            await self._until(probed, {**probe, "successThreshold": None, "initialDelaySeconds": 0}, well=False)
            self._set(probed, False)

    async def _until(self, probed: _Probed, probe: Object, *, well: bool) -> bool:
        """Asks until one answer has come as often in a row as its threshold; whether that was the answer `well`.

        A threshold of None is never reached.
        """
        limits = {True: probe.get("successThreshold", 1), False: probe.get("failureThreshold", 3)}
        await asyncio.sleep(float(probe.get("initialDelaySeconds") or 0))
        last, count = not well, 0
        while True:
            good = await self._ask(probed, probe)
            if good is not None:
                last, count = good, count + 1 if good is last else 1
                if limits[good] is not None and count >= limits[good]:
                    return good is well
            await asyncio.sleep(float(probe.get("periodSeconds") or 10))

    async def _ask(self, probed: _Probed, probe: Object) -> bool | None:
        """Whether the container is well; None when it could not be asked, which says nothing about it."""
        inside = Inside([], {})
        try:
            if "exec" in probe:
                inside = await self._enter(probed.pod, probed.view.container, probed.attempt, probe["exec"]["command"])
        except (PodFault, ApiError, ConnectionFailed) as error:
            log.warning("%s: container %s cannot be asked: %s", key_of(probed.pod), probed.view.name, error)
            return None
        fault = await check(probed.view.container, probe, inside, address_of(probed.pod))
        if fault:
            self._events.record(probed.pod, "Unhealthy", f"container {probed.view.name}: {fault}", "Warning")
        return not fault

    def _set(self, probed: _Probed, ready: bool) -> None:
        if probed.ready is not ready:
            probed.ready = ready
            probed.wake()

    async def _kill(self, probed: _Probed, why: str) -> None:
        """Ends the attempt; what follows is the restart policy's."""
        grace = float(probed.pod["spec"].get("terminationGracePeriodSeconds", 30))
        message = f"container {probed.view.name} failed its {why} probe; it is ended within {grace:g} s"
        self._events.record(probed.pod, "Killing", message, "Warning")
        probed.attempt.signal(signal.SIGTERM)
        process = probed.attempt.process()
        with contextlib.suppress(ProcessLookupError):
            if process is not None and not await process.ended(grace):
                probed.attempt.signal(signal.SIGKILL)


def _delays(container: Object) -> bool:
    """Whether the container is not ready before a probe says so."""
    return bool(container.get("readinessProbe") or container.get("startupProbe"))
