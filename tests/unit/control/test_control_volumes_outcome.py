"""What a worker's pod says of its work: go on, try again, or give up."""

import json
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.control.volumes.filler import Failed, Filled, Reading, Running, Waiting
from ingot.control.volumes.outcome import COUNTED_FROM, Report, excused, final_reading, judge, read_report, untimed
from unit.control.population import RUNNING, pod, target

PRIME = target("prime", volumeName="pv")


def ended(restarts: int, message: str | None, code: int = 1, **more: Any) -> Object:
    last = {"terminated": {"exitCode": code, "reason": "Error", **({"message": message} if message else {}), **more}}
    return pod(
        restartCount=restarts, state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}, lastState=last
    )


def said(reason: str, message: str, *, retry: bool) -> str:
    return json.dumps({"reason": reason, "message": message, "retry": retry})


NOT_FOUND = said("NotFound", "http://far/disk: 404", retry=False)


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_what_cannot_heal_is_tried_three_times_more(restarts: int) -> None:
    step = judge(ended(restarts, NOT_FOUND), PRIME)
    assert isinstance(step, Waiting)
    assert step.reason == "NotFound"
    assert step.message == f"http://far/disk: 404; restart {restarts + 1} of 3, tried again"


@pytest.mark.parametrize(
    ("waits", "when"),
    [
        ("back-off 20s restarting failed container=worker pod=a", "22:13:40"),
        ("back-off 1m20s restarting failed container=worker pod=a", "22:14:40"),
        ("container worker ended with exit code 1; started again 40 s after that", "22:14:00"),
    ],
)
def test_when_it_is_tried_again_is_told_where_that_is_known(waits: str, when: str) -> None:
    failed = ended(1, NOT_FOUND, finishedAt="2023-11-14T22:13:20Z")
    failed["status"]["containerStatuses"][0]["state"]["waiting"]["message"] = waits
    step = judge(failed, PRIME)
    assert isinstance(step, Waiting)
    assert step.message == f"http://far/disk: 404; restart 2 of 3, tried again at 2023-11-14T{when}Z"
    assert untimed(step.message) == "http://far/disk: 404; restart 2 of 3, tried again"


def test_and_then_it_is_final() -> None:
    step = judge(ended(3, NOT_FOUND), PRIME)
    assert isinstance(step, Failed)
    assert step.reason == "NotFound"
    assert step.message.startswith("http://far/disk: 404; ")
    assert step.message.endswith("final")


def test_they_count_anew_after_a_failure_that_may_heal() -> None:
    passing = ended(10, said("Unreachable", "far: no answer", retry=True))
    assert excused(passing) == 11
    for restarts, step in ((11, Waiting), (13, Waiting), (14, Failed)):
        final = ended(restarts, NOT_FOUND)
        final["metadata"]["annotations"][COUNTED_FROM] = "11"
        assert isinstance(judge(final, PRIME), step), restarts
        assert excused(final) is None
    passing["metadata"]["annotations"][COUNTED_FROM] = "11"
    assert excused(passing) is None
    assert excused(pod(phase="Pending")) is None


@pytest.mark.parametrize(
    "message", [said("Unreachable", "far: no answer", retry=True), None, "Killed", "[1]", "{" * 5000, '{"retry": "no"}']
)
def test_what_may_heal_or_says_nothing_is_tried_for_ever(message: str | None) -> None:
    step = judge(ended(1000, message), PRIME)
    assert isinstance(step, Waiting)
    assert step.message.endswith("tried again")


def test_a_worker_that_was_killed_is_told_by_its_signal() -> None:
    step = judge(ended(1, None, code=137, signal=9), PRIME)
    assert isinstance(step, Waiting)
    assert step.reason == "Error"
    assert "signal 9" in step.message


def test_one_that_runs_is_running_whatever_was_before() -> None:
    running = pod(restartCount=3, lastState={"terminated": {"exitCode": 1, "message": NOT_FOUND}}, **RUNNING)
    assert judge(running, PRIME) == Running()


def test_one_that_has_ended_well_has_filled_the_prime_once_that_is_bound() -> None:
    done = pod(phase="Succeeded", state={"terminated": {"exitCode": 0, "message": '{"done": 7, "virtualSize": 9}'}})
    assert judge(done, PRIME) == Filled(PRIME)
    assert final_reading(done) == Reading(7, 7, 0)
    assert isinstance(judge(done, target("prime")), Waiting)


def test_one_that_is_deleted_has_done_its_work_only_if_its_container_has() -> None:
    done = pod(phase="Succeeded", state={"terminated": {"exitCode": 0}})
    done["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z"
    assert judge(done, PRIME) == Filled(PRIME)
    for state in ({}, {"state": {"terminated": {"exitCode": 137}}}):
        cut_off = pod(phase="Succeeded", **state)
        cut_off["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z"
        step = judge(cut_off, PRIME)
        assert isinstance(step, Waiting)
        assert step.reason == "WorkerEnding"


def test_one_that_is_deleted_or_evicted_is_replaced() -> None:
    leaving = pod(**RUNNING)
    leaving["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z"
    assert judge(leaving, PRIME) == Waiting(
        "WorkerEnding", 'pod "importer-prime-uid-disk" is being deleted: another one is started, tried again'
    )
    evicted = pod(phase="Failed")
    evicted["status"] |= {"reason": "Evicted", "message": "The node was low on resource: memory."}
    step = judge(evicted, PRIME)
    assert isinstance(step, Waiting)
    assert step.reason == "Evicted"
    assert "low on resource: memory" in step.message


def test_one_that_has_not_begun_says_what_it_waits_for() -> None:
    unplaced = pod(phase="Pending")
    unplaced["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    ]
    assert judge(unplaced, PRIME) == Waiting("Unschedulable", "0/1 nodes")
    secretless = pod(
        phase="Pending", state={"waiting": {"reason": "CreateContainerConfigError", "message": 'no Secret "keys"'}}
    )
    assert judge(secretless, PRIME) == Waiting("CreateContainerConfigError", 'no Secret "keys"')
    assert judge(pod(phase=""), PRIME) == Waiting("Pending", "")


def test_a_report_is_one_line_of_bounded_length() -> None:
    wild = read_report(json.dumps({"reason": "Bad Word!", "message": "a\nb\x1b[31m" + "x" * 5000, "done": -5}))
    assert wild.reason == ""
    assert wild.message.startswith("a b [31mxxx")
    assert len(wild.message) <= 1001
    assert wild.done == 0
    assert read_report("") == Report()


def test_a_container_that_has_ended_well_is_no_failure_before_its_pod_has() -> None:
    done = pod(phase="Running", state={"terminated": {"exitCode": 0, "reason": "Completed"}})
    assert isinstance(judge(done, PRIME), Running)
