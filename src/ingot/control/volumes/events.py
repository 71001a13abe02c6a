"""What a DataVolume's controller tells people of its volumes: one event for each step, with CDI's reasons."""

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.control.volumes import status
from ingot.control.volumes.delta import savings
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.outcome import untimed
from ingot.control.volumes.status import Seen
from ingot.control.volumes.telling import REFUSED
from ingot.kube.events import Recorder
from ingot.kube.objects import condition

# By phase: what is said of the step, after what is done, as "Import into".
_STEPS = {
    "ImportScheduled": "is scheduled",
    "ImportInProgress": "is in progress",
    "UploadScheduled": "is scheduled",
    "UploadReady": "can begin: the server is ready to take it",
    "CloneScheduled": "is scheduled",
    "CloneInProgress": "is in progress, by copying",
    "CSICloneInProgress": "is in progress, by the storage itself",
    "SnapshotForSmartCloneInProgress": "is in progress, by a snapshot",
    "RebindInProgress": "is done, and the volume is handed over",
    "PendingPopulation": "waits for something that uses it",
    "WaitForFirstConsumer": "waits for something that uses it",
}


def record(recorder: Recorder, before: Object, after: Object, seen: Seen) -> None:
    """Tell what has changed between two states of a DataVolume, as `seen` explains it."""
    if _phase(after) != _phase(before):
        _record_step(recorder, after, _phase(after), seen)
    _record_bound(recorder, before, after)
    _record_trouble(recorder, before, after)


def _record_step(recorder: Recorder, volume: Object, reached: str, seen: Seen) -> None:
    what = f'{seen.operation or "Population"} into PersistentVolumeClaim "{name_of(volume)}"'
    if reached == status.SUCCEEDED:
        filled = f'PersistentVolumeClaim "{name_of(volume)}" had been filled before'
        said = seen.claim or volume
        saved = savings(annotation(said, names.DELTA), annotation(said, names.DELTA_FROM))
        done = f"{what} succeeded{saved}"
        told = ("Succeeded", filled) if seen.filled else (f"{seen.operation or ''}Succeeded", done)
        recorder.record(volume, *told)
    elif reached == status.FAILED:
        ready = condition(volume, status.READY) or {}
        reason = f"{seen.operation}Failed" if seen.operation else ready.get("reason", "Failed")
        recorder.record(volume, reason, f"{what} failed: {ready.get('message', '')}", "Warning")
    elif reached in _STEPS and (seen.fault is None or seen.claim is not None):
        recorder.record(volume, reached, f"{what} {_STEPS[reached]}")


def _record_bound(recorder: Recorder, before: Object, after: Object) -> None:
    old, new = condition(before, status.BOUND) or {}, condition(after, status.BOUND) or {}
    if new.get("reason") in ("Bound", "Pending") and new["reason"] != old.get("reason"):
        recorder.record(after, new["reason"], new["message"])


def _record_trouble(recorder: Recorder, before: Object, after: Object) -> None:
    """What keeps a volume from being ready that has not ended, where it is new: what is in the way, or was tried."""
    if _phase(after) in (status.SUCCEEDED, status.FAILED):
        return
    for kind, is_trouble in ((status.READY, _hinders), (status.RUNNING, _is_setback)):
        old, new = condition(before, kind) or {}, condition(after, kind) or {}
        if is_trouble(new) and untimed(new["message"]) != untimed(old.get("message", "")):
            recorder.record(after, new["reason"], new["message"], "Warning")
            return


def _hinders(ready: Object) -> bool:
    return bool(ready.get("message")) and ready.get("reason") != "SizeDetectionPodNotReady"


def _is_setback(running: Object) -> bool:
    tried_again = running.get("status") == "False" and "tried again" in running.get("message", "")
    return tried_again or running.get("reason") == REFUSED


def _phase(volume: Object) -> str:
    return str((volume.get("status") or {}).get("phase") or "")
