"""What a claim tells of the work on it: CDI's annotations and events, made from where the work is."""

import json
from collections.abc import Mapping

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS
from ingot.control.volumes.delta import savings
from ingot.control.volumes.filler import Failed, Filled, News, Reading, Running, Waiting, Words
from ingot.control.volumes.marks import annotation, phase_of
from ingot.control.volumes.outcome import restarts_of, untimed
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.kube.objects import is_true

# An annotation that is None is taken away.
Told = dict[str, str | None]

# The reason of a claim whose last upload came to nothing.
REFUSED = "UploadRefused"
_COMPLETED = ("Completed", "the volume is filled")


def told(step: News, pod: Object | None, reading: Reading | None) -> Told:
    """What the target is to tell while its prime is filled, or once that has failed."""
    reason, message = _condition(step)
    if reading and reading.refused:
        reason, message = REFUSED, f"the last upload was refused: {reading.refused}; the volume waits for another one"
    return {
        **(_of_pod(pod) if pod else {}),
        names.RUNNING: "true" if isinstance(step, Running) else "false",
        names.RUNNING_REASON: reason,
        names.RUNNING_MESSAGE: message,
        names.QUEUED: step.message if isinstance(step, Waiting) and step.queued else None,
        **({names.PROGRESS: None if reading.refused else _progress(reading)} if reading else {}),
        **(_failure(step) if isinstance(step, Failed) else step.notes),
    }


def completed(notes: Mapping[str, str]) -> Told:
    """What the target tells once it has its volume; `notes` are its filler's."""
    reason, message = _COMPLETED
    return {
        **notes,
        names.POD_PHASE: "Succeeded",
        names.POD_READY: None,
        names.RUNNING: "false",
        names.RUNNING_REASON: reason,
        names.RUNNING_MESSAGE: message,
        names.QUEUED: None,
    }


def _condition(step: News) -> tuple[str, str]:
    match step:
        case Running(message=message):
            return "Pod is running", message
        case Filled():
            return "RebindInProgress", "the volume is filled, and is being bound"
        case Waiting(reason=reason, message=message) | Failed(reason=reason, message=message):
            return reason, message


def _of_pod(pod: Object) -> Told:
    # A pod that has done its work is not the end: that is when the target is bound.
    phase = phase_of(pod) or "Pending"
    return {
        names.POD_NAME: name_of(pod),
        names.POD_PHASE: "Running" if phase == "Succeeded" else phase,
        names.POD_READY: "true" if is_true(pod, "Ready") else "false",
        names.POD_RESTARTS: str(restarts_of(pod)),
    }


def _progress(reading: Reading) -> str:
    return json.dumps({"done": reading.done, "total": reading.total, "rate": reading.rate})


def _failure(step: Failed) -> Told:
    failure = json.dumps({"reason": step.reason, "message": step.message}, ensure_ascii=False)
    return {names.FAILURE: failure, names.POD_PHASE: "Failed"}


async def tell(client: Client, target: Object, wanted: Told) -> bool:
    """Make the target tell that, and nothing else than before besides; whether it did not tell so yet.

    It is this very target or none: a 409 for another of its name.
    """
    known = target["metadata"].get("annotations") or {}
    change = {key: text for key, text in wanted.items() if known.get(key) != text}
    if not change:
        return False
    patch = {"metadata": {"uid": uid_of(target), "annotations": change}}
    await client.patch(VOLUME_CLAIMS, name_of(target), patch, namespace_of(target))
    return True


def record(events: Recorder, words: Words, target: Object, wanted: Told) -> None:
    """Events for what the target tells now and did not before."""
    name, verb = name_of(target), words.verb

    def became(key: str, value: str | None) -> bool:
        return value is not None and wanted.get(key) == value and annotation(target, key) != value

    if became(names.POD_NAME, wanted.get(names.POD_NAME)):
        events.record(target, words.scheduled, f"{verb.capitalize()} into {name} scheduled")
    if became(names.RUNNING, "true"):
        events.record(target, words.running, f"{verb.capitalize()} into {name} in progress")
    if became(names.POD_PHASE, "Succeeded"):
        saved = savings(wanted.get(names.DELTA) or "", annotation(target, names.DELTA_FROM))
        events.record(target, words.succeeded, f"{verb.capitalize()} into {name} succeeded{saved}")
    if names.FAILURE in wanted:
        events.record(target, words.failed, f"Failed to {verb} into {name}: {wanted[names.RUNNING_MESSAGE]}", "Warning")
    elif _set_back(target, wanted):
        events.record(target, str(wanted[names.RUNNING_REASON]), str(wanted[names.RUNNING_MESSAGE]), "Warning")


def _set_back(target: Object, wanted: Told) -> bool:
    """Whether something went wrong since the target told last, after which it is tried again, or waited for another."""
    message = wanted.get(names.RUNNING_MESSAGE) or ""
    is_setback = "tried again" in message or wanted.get(names.RUNNING_REASON) == REFUSED
    return is_setback and untimed(annotation(target, names.RUNNING_MESSAGE)) != untimed(message)
