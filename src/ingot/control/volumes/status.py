"""What a DataVolume's status says, out of its claim and what went wrong: CDI's phases, conditions and progress."""

from dataclasses import dataclass
from typing import Any

import msgspec

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_being_filled
from ingot.api.object import Object, name_of
from ingot.control.heartbeat import set_condition
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.marks import annotation, is_bound, phase_of
from ingot.control.volumes.source import Operation

PENDING, SUCCEEDED, FAILED = "Pending", "Succeeded", "Failed"
PENDING_POPULATION = "PendingPopulation"
REBINDING = "RebindInProgress"
BOUND, READY, RUNNING = "Bound", "Ready", "Running"

NO_PROGRESS, ALL_PROGRESS = "N/A", "100.0%"
_TRANSFER_RUNNING = "TransferRunning"

# How a clone is made, and the phase that it is in meanwhile.
_CLONING = {"csi-clone": "CSICloneInProgress", "snapshot": "SnapshotForSmartCloneInProgress"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the controller knows of a DataVolume.

    `claim` is the one of its name that is the DataVolume's own. `operation` fills it; None where that is not up to us.
    `filled`: it was filled before. `ended`: the DataVolume was, and is never to be again, whatever comes of its claim.
    `waits`: it is not filled until something uses it. `fault` says what is in the way; beside a claim, that goes on.
    """

    claim: Object | None = None
    operation: Operation | None = None
    filled: bool = False
    ended: bool = False
    waits: bool = False
    fault: VolumeFault | None = None


def failure_of(seen: Seen) -> VolumeFault | None:
    """Why it has failed for good; None while it has not."""
    if seen.fault is not None:
        return seen.fault if seen.fault.final else None
    if seen.claim is None or seen.filled:
        return None
    if (told := told_by(seen.claim)) is not None:
        return told
    if phase_of(seen.claim) == "Lost":
        message = (
            f'PersistentVolumeClaim "{name_of(seen.claim)}" has lost its PersistentVolume. This is final: delete the '
            "DataVolume and make it anew"
        )
        return VolumeFault("ErrClaimLost", message, final=True)
    return None


def told_by(claim: Object) -> VolumeFault | None:
    """Why a claim says that it cannot be filled, for good; None where it does not say so."""
    told = annotation(claim, names.FAILURE)
    if not told:
        return None
    found = _decoded(told)
    message = str(found.get("message") or "it cannot be filled. This is final")
    return VolumeFault(str(found.get("reason") or "Failed"), message, final=True)


def write(volume: Object, seen: Seen, now: float) -> None:
    """Bring the status up to what was seen."""
    status = volume.setdefault("status", {})
    failure = failure_of(seen)
    status["phase"] = FAILED if failure else _phase(seen)
    if seen.claim is not None:
        status["claimName"] = name_of(seen.claim)
        restarts = annotation(seen.claim, names.POD_RESTARTS)
        if restarts.isdecimal():
            status["restartCount"] = min(int(restarts), 2**31 - 1)
    elif seen.fault is not None and seen.fault.restarts:
        status["restartCount"] = seen.fault.restarts
    _progress(status, seen)
    _conditions(volume, seen, failure, now)


def _phase(seen: Seen) -> str:
    if seen.claim is None:
        return seen.fault.phase if seen.fault is not None else PENDING
    if seen.filled or seen.ended:
        return SUCCEEDED
    if seen.operation is None:
        return _phase_by_others(seen.claim, waits=seen.waits)
    worker = annotation(seen.claim, names.POD_PHASE)
    if worker == "Succeeded" and is_bound(seen.claim):
        return SUCCEEDED
    if seen.waits:
        return PENDING_POPULATION
    return _working(seen.operation, worker, seen.claim)


def _phase_by_others(claim: Object, *, waits: bool) -> str:
    """That of a claim which no populator of ours fills. One that takes an upload itself is bound before."""
    if is_bound(claim):
        return PENDING if is_being_filled(claim) else SUCCEEDED
    return PENDING_POPULATION if waits else PENDING


def _working(operation: Operation, worker: str, claim: Object) -> str:
    if worker == "Succeeded" or annotation(claim, names.RUNNING_REASON) == REBINDING:
        return "ImportInProgress" if operation is Operation.IMPORT else REBINDING
    if operation is Operation.CLONE and (kind := annotation(claim, names.CLONE_TYPE)) in _CLONING:
        return _CLONING[kind]
    if worker != "Running":
        return f"{operation}Scheduled"
    if operation is Operation.UPLOAD:
        return "UploadReady" if annotation(claim, names.POD_READY) == "true" else "UploadScheduled"
    return f"{operation}InProgress"


def _progress(status: Object, seen: Seen) -> None:
    status.pop("transfer", None)
    if status["phase"] == SUCCEEDED:
        status["progress"] = ALL_PROGRESS
        return
    if status["phase"] == FAILED:
        return
    status["progress"] = NO_PROGRESS
    transfer = transfer_of(seen.claim) if seen.claim else None
    if transfer is not None:
        total = transfer.get("total")
        status["progress"] = f"{100 * min(transfer['done'], total) / total:.2f}%" if total else NO_PROGRESS
    elif seen.fault is not None and (reading := seen.fault.reading) is not None:
        # Of the look at an image: its share is none of the volume's.
        transfer = _transfer(reading.done, reading.total, reading.rate)
    if transfer is not None:
        status["transfer"] = transfer


def transfer_of(claim: Object) -> Object | None:
    """`status.transfer`, out of what the worker last said; None where it has said nothing."""
    told = _decoded(annotation(claim, names.PROGRESS))
    done, total, rate = (_count(told.get(field)) for field in ("done", "total", "rate"))
    return _transfer(done, total, rate) if "done" in told else None


def _transfer(done: int, total: int, rate: int) -> Object:
    transfer = {"done": done}
    if total:
        transfer["total"] = total
    if rate:
        transfer["bytesPerSecond"] = rate
    if total and rate:
        transfer["secondsLeft"] = -(-max(total - done, 0) // rate)
    return transfer


def _decoded(text: str) -> Object:
    """What an annotation says in JSON; anybody may write there, so whatever is not an object is nothing."""
    try:
        return dict(msgspec.json.decode(text or "{}", type=dict[str, Any]))
    except msgspec.DecodeError:
        return {}


def _count(value: object) -> int:
    return max(value, 0) if isinstance(value, int) and value < 2**63 else 0


def _conditions(volume: Object, seen: Seen, failure: VolumeFault | None, now: float) -> None:
    status = volume["status"]
    fault = failure or seen.fault
    ready = status["phase"] == SUCCEEDED and seen.claim is not None and is_bound(seen.claim)
    set_condition(volume, BOUND, *_bound(seen, fault), now)
    running, reason, message = _running(seen, failure, ready=ready)
    if fault is not None and not ready:
        set_condition(volume, READY, "False", fault.reason, fault.message, now)
    else:
        set_condition(volume, READY, str(ready), _TRANSFER_RUNNING if running == "True" else "", "", now)
    set_condition(volume, RUNNING, running, reason, message, now)


def _bound(seen: Seen, fault: VolumeFault | None) -> tuple[str, str, str]:
    if seen.claim is None:
        told = (fault.reason, fault.message) if fault else ("NotFound", "No PVC found")
        return "False", *told
    if phase_of(seen.claim) == "Lost":
        return "False", "ClaimLost", f"PVC {name_of(seen.claim)} has lost its volume"
    word = "Bound" if is_bound(seen.claim) else "Pending"
    return str(word == "Bound"), word, f"PVC {name_of(seen.claim)} {word}"


def _running(seen: Seen, failure: VolumeFault | None, *, ready: bool) -> tuple[str, str, str]:
    if failure is not None:
        return "False", failure.reason, failure.message
    if ready:
        return "False", "Completed", f"{seen.operation} Complete" if seen.operation else ""
    claim = seen.claim
    if claim is None:
        return "False", (seen.fault.reason if seen.fault else ""), (seen.fault.message if seen.fault else "")
    if queued := annotation(claim, names.QUEUED):
        return "False", "Queued", queued
    told = annotation(claim, names.RUNNING).capitalize() or "False"
    word = told if told in ("True", "False") else "Unknown"
    if not annotation(claim, names.RUNNING_REASON) and seen.fault is not None:
        return word, seen.fault.reason, seen.fault.message
    return word, annotation(claim, names.RUNNING_REASON), annotation(claim, names.RUNNING_MESSAGE)
