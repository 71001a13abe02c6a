"""What a claim tells of the work on it, and the events about that."""

import json
from typing import Any

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.volumes import telling
from ingot.control.volumes.filler import Failed, Filled, Reading, Running, Step, Waiting, Words
from unit.control.population import RUNNING, pod, target

WORDS = Words("import", "ImportScheduled", "ImportInProgress", "ImportSucceeded", "ImportFailed")


class Heard:
    """A recorder that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, str]] = []

    def record(self, _obj: Object, reason: str, message: str, kind: str = "Normal") -> None:
        self.said.append((reason, message, kind))


def events(before: dict[str, str], wanted: telling.Told) -> list[tuple[str, str, str]]:
    claim = target()
    claim["metadata"]["annotations"] = before
    heard: Any = Heard()
    telling.record(heard, WORDS, claim, wanted)
    return list(heard.said)


def told(step: Step, worker: Object | None = None, reading: Reading | None = None) -> telling.Told:
    return telling.told(step, worker, reading)


def test_a_transfer_tells_its_pod_and_how_far_it_is() -> None:
    found = told(Running(), pod(restartCount=2, **RUNNING), Reading(5, 10, 3))
    assert found[names.POD_NAME] == "importer-prime-uid-disk"
    assert found[names.POD_PHASE] == "Running"
    assert found[names.POD_RESTARTS] == "2"
    assert found[names.RUNNING] == "true"
    assert json.loads(found[names.PROGRESS] or "") == {"done": 5, "total": 10, "rate": 3}
    assert found[names.QUEUED] is None


def test_a_refused_upload_is_none_that_is_under_way() -> None:
    found = told(Running(), pod(**RUNNING), Reading(0, 0, 0, refused="the file is cut off"))
    message = "the last upload was refused: the file is cut off; the volume waits for another one"
    assert (found[names.RUNNING], found[names.PROGRESS]) == ("true", None)
    assert (found[names.RUNNING_REASON], found[names.RUNNING_MESSAGE]) == ("UploadRefused", message)
    known = {names.RUNNING: "true", names.POD_NAME: "importer-prime-uid-disk"}
    assert events(known, found) == [("UploadRefused", message, "Warning")]
    assert events({**known, names.RUNNING_MESSAGE: message}, found) == []


def test_a_pod_that_has_done_its_work_is_not_the_end() -> None:
    found = told(Filled(target("prime")), pod(phase="Succeeded"), Reading(9, 9, 0))
    assert found[names.POD_PHASE] == "Running"
    assert found[names.RUNNING_REASON] == "RebindInProgress"
    assert telling.completed({})[names.POD_PHASE] == "Succeeded"


def test_who_waits_at_the_gate_says_so_until_they_do_not() -> None:
    found = told(Waiting("Queued", "number 3 in the queue", queued=True))
    assert found[names.QUEUED] == "number 3 in the queue"
    assert names.POD_PHASE not in found
    assert told(Waiting("Pending", ""))[names.QUEUED] is None


def test_a_failure_is_told_with_reason_and_message() -> None:
    found = told(Failed("NotFound", "404; final"), pod(restartCount=3))
    assert json.loads(found[names.FAILURE] or "") == {"reason": "NotFound", "message": "404; final"}
    assert found[names.POD_PHASE] == "Failed"
    assert events({}, found)[-1] == ("ImportFailed", "Failed to import into disk: 404; final", "Warning")


def test_events_are_of_what_is_new() -> None:
    found = told(Running(), pod(**RUNNING))
    assert [reason for reason, _, _ in events({}, found)] == ["ImportScheduled", "ImportInProgress"]
    assert events({key: text for key, text in found.items() if text is not None}, found) == []
    assert [reason for reason, _, _ in events({}, telling.completed({}))] == ["ImportSucceeded"]


def test_a_setback_is_a_warning_once() -> None:
    found = told(Waiting("Unreachable", "far: no answer; tried again"), pod(restartCount=1))
    before = {names.POD_NAME: "importer-prime-uid-disk"}
    assert events(before, found) == [("Unreachable", "far: no answer; tried again", "Warning")]
    assert events({**before, names.RUNNING_MESSAGE: "far: no answer; tried again"}, found) == []
    timed = {names.RUNNING_MESSAGE: "far: no answer; tried again at 2023-11-14T22:13:20Z"}
    assert events({**before, **timed}, found) == [], "when that is known a moment later, nothing new has gone wrong"
    assert events(before, told(Waiting("ContainerCreating", ""), pod(phase="Pending"))) == []
