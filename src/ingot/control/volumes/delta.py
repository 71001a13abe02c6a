"""Delta imports: the claim with the version before is mounted beside the prime, and what it has is not fetched (X4).

It only ever saves something. A claim that cannot be had, or that keeps the worker from starting, is done without.
"""

import json
from dataclasses import replace

import msgspec

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.control.volumes.filler import Means, Waiting
from ingot.control.volumes.marks import annotation, created, is_bound, phase_of
from ingot.control.volumes.outcome import Report, has_run
from ingot.control.volumes.placement import hosts_of
from ingot.control.volumes.writers import Writers
from ingot.control.writing import delete
from ingot.kube.cache import Key
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

# The name of its volume in the worker's pod.
PREVIOUS = "previous"
# How long a pod may wait for its volumes before it has to do without this one: it may be attached to another node.
_PATIENCE_SECONDS = 60.0
_MIB = 1 << 20
# Anybody may write on a claim.
_LONGEST_NAME = 253


class Deltas:
    """Which claims imports may take chunks from."""

    def __init__(self, means: Means, manager: Manager) -> None:
        self._means = means
        self._writers = Writers(manager)

    async def previous(self, target: Object, source: Object, prime: Object) -> Object | None:
        """The claim that the target names as the one of the version before, if the worker can have it; else None."""
        name = annotation(target, names.DELTA_FROM)
        if not name or name == annotation(prime, names.DELTA_WITHOUT) or "registry" not in source["spec"]["source"]:
            return None
        found = self._means.claims.cache.get(Key(namespace_of(target), name))
        if found is None or is_deleting(found) or not is_bound(found) or not self._is_in_reach(found, prime):
            return None
        # It would do no harm. But who writes has a right to the volume, perhaps on another node.
        return None if await self._writers.of(found) else found

    def _is_in_reach(self, claim: Object, prime: Object) -> bool:
        if "ReadWriteOncePod" in claim["spec"]["accessModes"]:
            return False
        volumes = self._means.volumes.cache
        here = hosts_of(volumes.get(Key("", claim["spec"]["volumeName"])))
        there = hosts_of(volumes.get(Key("", prime["spec"].get("volumeName") or "")))
        return not (here and there and here.isdisjoint(there))

    async def look_after(self, prime: Object, pod: Object, step: Waiting) -> Waiting:
        """The step of a pod that waits. One that has not started for a while is made again without the claim."""
        claim = _mounted(pod)
        if not claim or is_deleting(pod) or phase_of(pod) not in ("", "Pending") or has_run(pod):
            return step
        age = max(self._means.clock.time() - created(pod), 0.0)
        if age < _PATIENCE_SECONDS:
            return replace(step, again=min(step.again or _PATIENCE_SECONDS, _PATIENCE_SECONDS - age))
        patch = {"metadata": {"uid": uid_of(prime), "annotations": {names.DELTA_WITHOUT: claim}}}
        await self._means.client.patch(VOLUME_CLAIMS, name_of(prime), patch, namespace_of(prime))
        await delete(self._means.client, PODS, pod)
        message = f'pod "{name_of(pod)}" did not start in {age:.0f} s with claim "{claim}" of the version before'
        return Waiting("DeltaNotPossible", f"{message}: all is fetched, tried again")


def _mounted(pod: Object) -> str:
    """The claim of the version before that a worker has, "" for one without."""
    volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
    return str((volumes.get(PREVIOUS, {}).get("persistentVolumeClaim") or {}).get("claimName") or "")


def note(report: Report) -> dict[str, str]:
    """What a claim tells of an import that took something from another."""
    return {names.DELTA: json.dumps({"fetched": report.fetched, "reused": report.reused})} if report.reused else {}


class _Delta(msgspec.Struct):
    fetched: int
    reused: int


def savings(delta: str, previous: str) -> str:
    """The annotations DELTA and DELTA_FROM in words, to be added to those about success; "" where there is nothing."""
    try:
        told = msgspec.json.decode(delta, type=_Delta)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    fetched, reused = (f"{count / _MIB:.1f} MiB" for count in (told.fetched, told.reused))
    return f': {fetched} were fetched, and {reused} were in claim "{previous[:_LONGEST_NAME]}" already'
