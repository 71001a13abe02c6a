"""What the status of a machine's snapshot says."""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, uid_of
from ingot.api.snapshot.saving import Stage
from ingot.control.snapshots.parts import Part
from ingot.control.snapshots.words import (
    FAILED,
    FAILURE,
    IN_PROGRESS,
    ONLINE,
    PROGRESSING,
    READY,
    SUCCEEDED,
    is_ready,
)
from ingot.kube.clock import timestamp
from ingot.kube.objects import is_true, set_condition

_RAN = "the machine was running: its disks are as after a power cut at that moment"
_NO_AGENT = "filesystems of the guest were not frozen: what was in its memory only is not in the snapshot"
_PAUSED = "the machine was paused: what was in its memory only is not in the snapshot"
_PARTIAL = "volumes that the guest may write to are not in the snapshot: status.snapshotVolumes names them"


def observe(snapshot: Object, machine: Object, instance: Object | None, parts: Iterable[Part]) -> None:
    """Write what is known before anything is made: the machine, its state, and which volumes there will be."""
    status, parts = snapshot.setdefault("status", {}), list(parts)
    status["phase"], status["readyToUse"], status["sourceUID"] = IN_PROGRESS, False, uid_of(machine)
    status["snapshotVolumes"] = {
        "includedVolumes": [part.volume for part in parts if part.is_held],
        "excludedVolumes": [part.volume for part in parts if not part.is_held],
    }
    told = _indications(instance)
    if any(part.lasting and not part.is_held for part in parts):
        told["PartialSnapshot"] = _PARTIAL
    # Whoever began before and was broken off may have told it of a guest that has ended since.
    for field in ("indications", "sourceIndications"):
        status.pop(field, None)
    if told:
        status["indications"] = list(told)
        status["sourceIndications"] = [{"indication": each, "message": message} for each, message in told.items()]


def _indications(instance: Object | None) -> dict[str, str]:
    if instance is None or phase.is_final(instance):
        return {}
    if is_true(instance, "Paused"):
        return {ONLINE: _RAN, "Paused": _PAUSED}
    return {ONLINE: _RAN, "NoGuestAgent": _NO_AGENT}


def waiting(snapshot: Object, reason: str, message: str, now: float) -> None:
    """Nothing has been made yet."""
    status = snapshot.setdefault("status", {})
    status.setdefault("phase", IN_PROGRESS)
    status["readyToUse"] = False
    set_condition(snapshot, PROGRESSING, False, reason, message, now)
    set_condition(snapshot, READY, False, "NotReady", message, now)


def follow(snapshot: Object, content: Object, now: float) -> None:
    """Write how far the content is. What has succeeded stays so, but may become unusable."""
    status, told = snapshot["status"], content.get("status") or {}
    status["virtualMachineSnapshotContentName"] = name_of(content)
    status["readyToUse"] = is_ready(content)
    for field in ("creationTime", "error"):
        if field in told:
            status[field] = told[field]
        elif field == "error":
            status.pop(field, None)
    why = (told.get("error") or {}).get("message", "")
    if "creationTime" in status:
        status["phase"] = SUCCEEDED
        set_condition(snapshot, PROGRESSING, False, "Complete", "Operation complete", now)
    else:
        message = why or _doing(told.get("copying") or {})
        set_condition(snapshot, PROGRESSING, not why, "Error" if why else "InProgress", message, now)
    if status["readyToUse"]:
        set_condition(snapshot, READY, True, "Ready", "Ready", now)
    else:
        set_condition(snapshot, READY, False, "NotReady", why or "The volumes' snapshots are not ready yet", now)


def _doing(copying: Object) -> str:
    """What a content that has no moment yet is about."""
    if copying.get("stage") == Stage.COPYING and copying.get("totalBytes"):
        return f"Copying volumes: {copying.get('copiedBytes', 0)} of {copying['totalBytes']} bytes"
    return str(copying.get("message") or "Waiting for the snapshots of the volumes")


def failed(snapshot: Object, message: str, now: float) -> None:
    """It is over, and nothing of it can be used."""
    status = snapshot.setdefault("status", {})
    status["phase"], status["readyToUse"] = FAILED, False
    status["error"] = {"time": timestamp(now), "message": message}
    set_condition(snapshot, FAILURE, True, "DeadlineExceeded", message, now)
    set_condition(snapshot, PROGRESSING, False, "Failed", "Operation failed", now)
    set_condition(snapshot, READY, False, "Failed", "Operation failed", now)
