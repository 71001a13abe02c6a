"""Workers that do not run: what is in their way is found out, and those that never will, or ought not to yet, are taken
away."""

import re
from dataclasses import replace

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import EVENTS, PODS
from ingot.control.volumes.filler import Waiting
from ingot.control.volumes.gate import Gate
from ingot.control.volumes.marks import created, phase_of, target_of
from ingot.control.volumes.outcome import COUNTED_FROM, excused, failure_of, last_report
from ingot.control.volumes.place import begins_anew, has_failed
from ingot.control.writing import delete
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import Clock
from ingot.kube.objects import is_deleting

# A pod that fails by itself, as those that are evicted do, is not followed by another at once.
_LOST_SECONDS = 10.0
# How long after it was made a pod that has not started and says nothing of it is asked about, and how often.
_SILENT_SECONDS = 2.0
_LOOK_SECONDS = 10.0
# As the kubelet says it, and Ingot's own pods.
_MISSING = re.compile(r"\b(secret|configmap)\b.* (not found|is not there)", re.IGNORECASE)


class Care:
    """Looks after pods whose step is to wait, or should be."""

    def __init__(self, client: Client, clock: Clock, gate: Gate) -> None:
        self._client = client
        self._clock = clock
        self._gate = gate

    async def look_after(self, pod: Object, step: Waiting) -> Waiting:
        """The step, with what else is known of it."""
        if is_deleting(pod):
            return step
        await self._excuse(pod)
        if phase_of(pod) == "Failed":
            return await self._replace(pod, step)
        if phase_of(pod) in ("", "Pending") and not step.message:
            return await self._explain(pod, step)
        return step

    async def sent_back(self, key: Key, pod: Object) -> Waiting | None:
        """What is said of a worker that is taken away, for its place is another's: it was started late, or again, while
        all of them were taken, or has had its turn. None for all others. One that may have failed for good is let have
        its few tries."""
        if is_deleting(pod):
            return None
        if self._gate.is_surplus(key) and not has_failed(pod):
            return await self._put_back(key, pod)
        if self._gate.is_surplus(key) and last_report(pod).retry:
            why = failure_of(pod)
            self._gate.note_failure(key, why)
            self._gate.send_back(key)
            message = f"it failed, and others have taken the {self._gate.limit} places of transfers since: it waits for"
            message += f" one, and {_afterwards(pod)}; it failed with: {why}"
        elif self._gate.has_had_its_turn(key):
            self._gate.end_turn(key)
            message = f"it has had one of the {self._gate.limit} places of transfers for long, and others waited: it "
            message += f"waits for one, and {_afterwards(pod)}"
        else:
            return None
        await delete(self._client, PODS, pod)
        return Waiting("Queued", message, queued=True)

    async def _put_back(self, key: Key, pod: Object) -> Waiting:
        # Not before it is deleted: where that fails it is tried again, and was late once all the same.
        await delete(self._client, PODS, pod)
        self._gate.put_back(key)
        message = f"it started late, and others have taken the {self._gate.limit} places of transfers meanwhile: it"
        return Waiting("Queued", f"{message} waits for one, where it was in the queue before", queued=True)

    async def _excuse(self, pod: Object) -> None:
        """Failures that cannot heal count anew after one that can: who was gone for a night may lie once after it."""
        since = excused(pod)
        if since is not None:
            patch = {"metadata": {"uid": uid_of(pod), "annotations": {COUNTED_FROM: str(since)}}}
            await self._client.patch(PODS, name_of(pod), patch, namespace_of(pod))

    async def _replace(self, pod: Object, step: Waiting) -> Waiting:
        """A pod that will not run again is deleted, a while after it was made."""
        age = self._age(pod)
        if age < _LOST_SECONDS:
            return replace(step, again=_LOST_SECONDS - age)
        if target := target_of(pod):
            self._gate.note_failure(target, step.message)
        await delete(self._client, PODS, pod)
        return step

    async def _explain(self, pod: Object, step: Waiting) -> Waiting:
        """Of a volume that cannot be mounted, as for a Secret that is not there, only events tell."""
        age = self._age(pod)
        if age < _SILENT_SECONDS:
            return replace(step, again=_SILENT_SECONDS - age)
        selector = f"involvedObject.uid={uid_of(pod)},type=Warning"
        warnings = (await self._client.list(EVENTS, namespace_of(pod), field_selector=selector))["items"]
        last: Object = max(warnings, key=_when, default={})
        message = str(last.get("message") or "")
        if _MISSING.search(message):
            self._gate.give_way(pod)
        return replace(step, message=message, again=_LOOK_SECONDS)

    def _age(self, pod: Object) -> float:
        return max(self._clock.time() - created(pod), 0.0)


def _afterwards(pod: Object) -> str:
    return "begins anew, as it fills a device" if begins_anew(pod) else "goes on as far as its source allows"


def _when(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp", ""))
