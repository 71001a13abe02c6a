"""What the status of a machine's snapshot's content says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingot.api.object import Object
from ingot.api.snapshot.saving import Stage
from ingot.control.snapshots.saving import Step
from ingot.control.snapshots.words import seconds_at
from ingot.kube.clock import timestamp

# How long an error of a VolumeSnapshot stands before the attempt is given up.
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class State:
    """What there is of a content: its VolumeSnapshots by name, None for one that is not there; how far its full copies
    are, None once they are complete or where there are none to be made; the claims of copies that are `gone`; and the
    `fault` of an attempt that was given up. `again` is when to look."""

    snapshots: Mapping[str, Object | None]
    copies: Step | None = None
    gone: Sequence[str] = ()
    fault: str = ""
    again: float | None = None


def was_made(content: Object) -> bool:
    """Whether the moment is held: nothing is made anew after that."""
    return "creationTime" in (content.get("status") or {})


def torn(snapshots: Mapping[str, Object | None], *, copied: bool, now: float, known: str = "") -> str:
    """Why the VolumeSnapshots, which are begun together, cannot come to hold one moment any more: one of them failed,
    or was not made, when others had their moment, or full copies, which are `copied` with them. "" while they can.

    What is missing after a failure that is `known` was cleared away for that: the failure stays the reason."""
    states = {name: _state(each) for name, each in snapshots.items()}
    if not copied and not any("creationTime" in each for each in states.values()):
        return ""
    for name, state in states.items():
        has_failed = "error" in state and _left(state, now) <= 0
        if "creationTime" not in state and (has_failed or snapshots[name] is None):
            if known and not has_failed:
                return known
            what = f"error: {state['error'].get('message', '')}" if has_failed else "is missing"
            return f"VolumeSnapshot {name} {what}; it would be of another moment than the others: all are made anew"
    return ""


def patience(snapshots: Mapping[str, Object | None], now: float) -> float | None:
    """When to look whether an error of now has gone by itself; None where there is none."""
    waits = (_left(state, now) for each in snapshots.values() if "error" in (state := _state(each)))
    return min((wait for wait in waits if wait > 0), default=None)


def _left(state: Object, now: float) -> float:
    """How long the storage may yet overcome an error: snapshotters try again what timed out or met another writer."""
    since = state["error"].get("time")
    return seconds_at(since) + PATIENCE_SECONDS - now if since and "creationTime" not in state else 0.0


def write(content: Object, state: State, now: float) -> str:
    """Write how far the content is. Returns what is wrong, if that is news."""
    status = content.setdefault("status", {})
    states = [{"volumeSnapshotName": name, **_state(each)} for name, each in state.snapshots.items()]
    status["volumeSnapshotStatus"] = states
    copies = state.copies
    copied = not state.fault and (copies is None or copies.stage is Stage.DONE)
    if copies is not None:
        status["copying"] = _copying(copies)
    status["readyToUse"] = copied and not state.gone and all(each.get("readyToUse") for each in states)
    if not was_made(content) and copied and all("creationTime" in each for each in states):
        saving = copies.saving if copies else None
        status["creationTime"] = (saving.moment if saving else "") or timestamp(now)
    message = _problem(state, states, was_made=was_made(content))
    if not message:
        status.pop("error", None)
    elif (status.get("error") or {}).get("message") != message:
        status["error"] = {"time": timestamp(now), "message": message}
        return message
    return ""


def _state(snapshot: Object | None) -> Object:
    told = (snapshot or {}).get("status") or {}
    return {field: told[field] for field in ("creationTime", "readyToUse", "error") if field in told}


def _copying(copies: Step) -> Object:
    saving = copies.saving
    bytes_done = {"copiedBytes": saving.done, "totalBytes": saving.total} if saving and saving.total else {}
    return {"stage": str(copies.stage), **({"message": copies.message} if copies.message else {}), **bytes_done}


def _problem(state: State, states: Sequence[Object], *, was_made: bool) -> str:
    if state.fault:
        return state.fault
    missing = [name for name, each in state.snapshots.items() if each is None]
    if missing and was_made:
        return f"VolumeSnapshots ({', '.join(missing)}) missing: their volumes cannot be restored"
    if state.gone:
        return f"PersistentVolumeClaims ({', '.join(state.gone)}) missing: their volumes cannot be restored"
    if state.copies is not None and state.copies.stage is Stage.FAILED:
        return f"full copies failed: {state.copies.message}"
    told = ((each["volumeSnapshotName"], (each.get("error") or {}).get("message")) for each in states)
    return next((f"VolumeSnapshot {name} error: {message}" for name, message in told if message), "")
