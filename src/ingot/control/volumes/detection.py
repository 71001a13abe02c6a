"""The size of an image that a DataVolume imports where nobody has said it: a pod goes and looks."""

from collections.abc import Callable

import msgspec

from ingot.api.cdi.names import COMPONENT, SIZE_PREFIX
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import PODS
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import is_owned
from ingot.control.reach import Reach
from ingot.control.volumes import importing, outcome, worker
from ingot.control.volumes.care import Care
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.filler import Failed, Hindered, Reading, Waiting
from ingot.control.volumes.gate import gate_of
from ingot.control.volumes.marks import phase_of
from ingot.control.volumes.place import looking
from ingot.control.volumes.prime import in_the_way
from ingot.control.volumes.progress import Readings
from ingot.control.volumes.wishes import NOTHING, Wishes, configs_of, wishes_in
from ingot.control.writing import delete
from ingot.kube.cache import Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

_LATER_SECONDS = 1.0
# How often one that is at work is looked at again: others may wait for its place.
_TURN_SECONDS = 10.0
_SCHEDULED = "ImportScheduled"
_SAY_IT = "This is final: make the DataVolume with spec.storage.resources.requests.storage"

# What these pods are called among those that work on volumes.
COMPONENT_NAME = "size-detection"
# CDI's reason of a DataVolume that waits for one of them.
LOOKING = "SizeDetectionPodNotReady"


class _Found(msgspec.Struct, rename="camel"):
    virtual_size: int = 0


def pod_key(volume: Object) -> Key:
    """The pod that looks for a DataVolume's image."""
    return Key(namespace_of(volume), f"{SIZE_PREFIX}{uid_of(volume)}")


def inspect_job(content: Object, priority: str = "", wishes: Wishes = NOTHING) -> worker.Job:
    """The job that looks at what a DataVolume's source names."""
    ((kind, found),) = content.items()
    given = wishes.of_source(kind, found)
    args = ["inspect", "--source-kind", kind]
    return worker.Job(
        prefix=SIZE_PREFIX,
        component=COMPONENT_NAME,
        args=[*args, *importing.source_args(given), *worker.outlet()],
        mounts=importing.source_mounts(given),
        environment={**({importing.URL_VARIABLE: given["url"]} if given.get("url") else {}), **wishes.proxies},
        annotations=importing.header_annotations(given),
        priority=priority,
    )


class Detection:
    """Pods that look. They are transfers as others are, for some images tell their size only at their end."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self.pods = manager.informer(PODS, label_selector=COMPONENT)
        self.configs = configs_of(manager)
        self._client = manager.client
        self._outfit = outfit
        self._gate = gate_of(manager, clock)
        self._care = Care(manager.client, clock, self._gate)
        self._wake: Callable[[Key], None] = lambda _: None
        self._readings = Readings(lambda key: self._wake(key), clock, reach=Reach(outfit.kubelet))
        manager.serve(self._readings.run)

    def listen(self, wake: Callable[[Key], None]) -> None:
        """Have DataVolumes looked at whose pod has come further."""
        self._wake = wake

    async def size(self, volume: Object, content: Object) -> int:
        """The virtual size of the image that `content`, a source, names. Raises VolumeFault while it is not known."""
        if volume["spec"].get("contentType") == "archive":
            raise VolumeFault(
                "SizeNotKnown", f"an archive does not tell how large its files are. {_SAY_IT}", final=True
            )
        pod = self.pods.cache.get(pod_key(volume))
        if pod is None:
            return await self._begin(volume, content)
        if not is_owned(pod, volume):
            self._gate.leave(looking(key_of(volume)))
            raise _fault(in_the_way(f'pod "{key_of(pod)}"', gone=is_deleting(pod)))
        if is_deleting(pod):
            self._gate.leave(looking(key_of(volume)))
            message = f'pod "{name_of(pod)}" of before is still there; tried again'
            raise self._not_yet(message, _LATER_SECONDS)
        if phase_of(pod) == "Succeeded":
            return _told(pod)
        step = outcome.judge(pod, {"spec": {}})
        restarts = outcome.restarts_of(pod)
        if isinstance(step, Failed):
            raise VolumeFault(step.reason, step.message, final=True, restarts=restarts)
        if isinstance(step, Waiting):
            step = await self._care.look_after(pod, step)
            if step.message:
                raise VolumeFault(step.reason, step.message, retry=step.again, phase=_SCHEDULED, restarts=restarts)
            raise self._not_yet(_looked_for(pod), step.again, restarts)
        if waiting := await self._care.sent_back(looking(key_of(volume)), pod):
            raise self._not_yet(waiting.message, _LATER_SECONDS, restarts)
        reading = self._asked(volume, pod)
        raise self._not_yet(_looked_for(pod), _TURN_SECONDS, restarts, reading)

    def _asked(self, volume: Object, pod: Object) -> Reading | None:
        key = key_of(volume)
        reading = self._readings.of(key, pod)
        if reading is not None:
            self._gate.note_progress(looking(key), pod, reading.done)
        return reading

    async def _begin(self, volume: Object, content: Object) -> int:
        key = pod_key(volume)
        if place := self._gate.admit_look(volume):
            where = f"number {place} in the queue: at most {self._gate.limit} transfers go on at once"
            raise self._not_yet(
                f"the size of the image is not known yet, and to be looked for: {where}", _LATER_SECONDS
            )
        wishes = wishes_in(self.configs.cache)
        job = inspect_job(content, volume["spec"].get("priorityClassName") or "", wishes)
        pod = worker.bare(volume, key.name, job, self._outfit, wishes)
        try:
            await self._make(volume, pod)
        except Exception:
            self._gate.leave(looking(key_of(volume)))
            raise
        raise self._not_yet(_looked_for(pod), _TURN_SECONDS)

    async def _make(self, volume: Object, pod: Object) -> None:
        try:
            await worker.made(self._client, volume, pod)
        except Hindered as hindered:
            raise _fault(hindered) from hindered

    def _not_yet(
        self, message: str, retry: float | None = None, restarts: int = 0, reading: Reading | None = None
    ) -> VolumeFault:
        return VolumeFault(LOOKING, message, retry=retry, phase=_SCHEDULED, restarts=restarts, reading=reading)

    async def clear(self, volume: Object) -> None:
        """The size is known, or will not be: the pod goes."""
        key = pod_key(volume)
        pod = self.pods.cache.get(key)
        if pod is not None and is_owned(pod, volume) and not is_deleting(pod):
            await delete(self._client, PODS, pod)
        self.forget(key_of(volume))

    def forget(self, key: Key) -> None:
        """The DataVolume of that key has nothing to be looked for any more."""
        self._gate.forget(looking(key))
        self._readings.forget(key)


def _looked_for(pod: Object) -> str:
    return f"the size of the image is looked for by pod {name_of(pod)}"


def _told(pod: Object) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ends = [(each.get("state") or {}).get("terminated") or {} for each in statuses]
    try:
        found = msgspec.json.decode(next((end.get("message") or "" for end in ends), ""), type=_Found)
    except (msgspec.MsgspecError, RecursionError):
        found = _Found()
    if found.virtual_size <= 0:
        message = f'pod "{name_of(pod)}" has not told how large the image is. {_SAY_IT}'
        raise VolumeFault("SizeNotKnown", message, final=True)
    return found.virtual_size


def _fault(hindered: Hindered) -> VolumeFault:
    said = hindered.step
    return VolumeFault(said.reason, said.message, retry=said.again)
