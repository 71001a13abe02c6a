"""Bringing one pod from bound to running, and keeping it so."""

import errno
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ingot.api.object import Object, uid_of
from ingot.host.command import CommandFailed
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.events import Recorder
from ingot.standalone.pods.addresses import Addresses
from ingot.standalone.pods.attempt import following
from ingot.standalone.pods.containers import Containers
from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.downward import address_of, addressed
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.refusal import refusal
from ingot.standalone.pods.status import Picture
from ingot.standalone.pods.view import View, look
from ingot.standalone.pods.volumes import Volumes, prepare

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


@dataclass(slots=True)
class Memory:
    """What is remembered of a pod while this process lives; all of it can be found out again."""

    volumes: Volumes | None = None
    faults: dict[str, int] = field(default_factory=dict)


class Running:
    """Takes the next steps of a pod that shall run."""

    def __init__(self, client: Client, root: Path, events: Recorder, clock: Clock = SYSTEM) -> None:
        self._client = client
        self._root = root
        self._events = events
        self._clock = clock
        self.containers = Containers(client, root)
        self.addresses = Addresses(root)

    def views(self, pod: Object) -> tuple[list[View], list[View]]:
        """The init containers and the containers of a pod."""
        place = PodDirectory(self._root, uid_of(pod))
        spec = pod["spec"]
        init = [look(each, place.container(each["name"])) for each in spec.get("initContainers") or ()]
        return init, [look(each, place.container(each["name"])) for each in spec["containers"]]

    async def step(self, pod: Object, memory: Memory) -> tuple[Picture, float]:
        """Starts what is due; the picture afterwards, and in how many seconds to look again (0: when woken)."""
        init, main = self.views(pod)
        left = _time_left(pod, self._clock.time())
        if failure := refusal(pod) or _expired(pod, left):
            self._events.record(pod, failure.reason, failure.message, "Warning")
            return Picture(init, main, failure=failure), 0.0
        try:
            pod = self._addressed(pod)
            await self._ready_volumes(pod, memory)
        except PodFault as fault:
            self._events.record(pod, fault.reason, fault.message, "Warning")
            return Picture(init, main, failure=fault if fault.final else None), self._pause(memory, "")
        memory.faults.pop("", None)
        done = sum(1 for view in init if view.code == 0)
        views, turn = (main, range(len(main))) if done == len(init) else (init, range(done, done + 1))
        faults, waits = await self._start_due(pod, memory, views, turn)
        if memory.volumes and memory.volumes.renewal:
            waits.append(max(0.01, memory.volumes.renewal - time.monotonic()))
        waits += [left] if left else []
        return Picture(init, main, faults, address=address_of(pod)), min(waits, default=0.0)

    def _addressed(self, pod: Object) -> Object:
        try:
            return addressed(pod, self.addresses.of(pod))
        except OSError as error:
            raise _on_disk("FailedCreatePodSandBox", error) from error

    async def _ready_volumes(self, pod: Object, memory: Memory) -> None:
        known = memory.volumes
        if known is None or (known.renewal and time.monotonic() >= known.renewal):
            place = PodDirectory(self._root, uid_of(pod))
            try:
                place.make(place.path)
                memory.volumes = await prepare(self._client, pod, place)
            except OSError as error:
                raise _on_disk("FailedMount", error) from error

    async def _start_due(
        self, pod: Object, memory: Memory, views: list[View], turn: range
    ) -> tuple[dict[str, PodFault], list[float]]:
        """Starts those of `views` whose turn it is; why others wait, and for how long."""
        faults: dict[str, PodFault] = {}
        waits: list[float] = []
        for index in turn:
            view = views[index]
            if not self._wants_start(pod, view):
                continue
            if wait := view.restart_due(self._clock.time()):
                faults[view.name] = self._backing_off(pod, view)
                waits.append(wait)
            elif fault := await self._start(pod, view, memory):
                faults[view.name] = fault
                waits.append(self._pause(memory, view.name))
            else:
                place = PodDirectory(self._root, uid_of(pod))
                views[index] = look(view.container, place.container(view.name))
        return faults, waits

    def _wants_start(self, pod: Object, view: View) -> bool:
        if view.running:
            return False
        policy = pod["spec"].get("restartPolicy", "Always")
        # An init container that ended well is never asked: its turn is over.
        return not view.ended or policy == "Always" or (policy == "OnFailure" and view.code != 0)

    async def _start(self, pod: Object, view: View, memory: Memory) -> PodFault | None:
        """Starts the next attempt of a container; why it could not be, if so."""
        try:
            await self._follow(pod, view, memory.volumes.places if memory.volumes else {})
        except PodFault as fault:
            self._events.record(pod, fault.reason, f"container {view.name}: {fault.message}", "Warning")
            return fault
        memory.faults.pop(view.name, None)
        return None

    async def _follow(self, pod: Object, view: View, places: dict[str, Path]) -> None:
        place = PodDirectory(self._root, uid_of(pod))
        directory = place.container(view.name)
        try:
            place.make(directory)
            if view.attempt is not None:
                await self.containers.clear(pod, view.container, view.attempt)
            attempt = following(directory, view.attempt, view.well)
            await self.containers.start(pod, view.container, places, attempt)
        except CommandFailed as error:
            raise PodFault("RunContainerError", f"{error}; tried again") from error
        except OSError as error:
            raise _on_disk("RunContainerError", error) from error

    def _backing_off(self, pod: Object, view: View) -> PodFault:
        why = f"container {view.name} ended with exit code {view.code}; started again {view.backoff:.0f} s after that"
        self._events.record(pod, "BackOff", why, "Warning")
        return PodFault("CrashLoopBackOff", why)

    def _pause(self, memory: Memory, what: str) -> float:
        memory.faults[what] = memory.faults.get(what, 0) + 1
        return min(FIRST_PAUSE * 2.0 ** (memory.faults[what] - 1), LONGEST_PAUSE)


def _on_disk(reason: str, error: OSError) -> PodFault:
    cure = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "put that right"
    return PodFault(reason, f"{error.filename or 'a file'}: {error.strerror}; {cure}, it is tried again")


def _time_left(pod: Object, now: float) -> float | None:
    """Seconds until the pod's deadline; None if it has none."""
    most = pod["spec"].get("activeDeadlineSeconds")
    if most is None:
        return None
    began = pod.get("status", {}).get("startTime")
    return float(most) + (datetime.fromisoformat(began).timestamp() - now if began else 0.0)


def _expired(pod: Object, left: float | None) -> PodFault | None:
    if left is None or left > 0:
        return None
    why = f"it was active for longer than activeDeadlineSeconds: {pod['spec']['activeDeadlineSeconds']} allows"
    return PodFault("DeadlineExceeded", why, final=True)
