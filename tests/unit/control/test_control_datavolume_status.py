"""What a DataVolume's status says of its claim and of what is in the way (G1)."""

import json
from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.volumes import status
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.source import Operation
from ingot.control.volumes.status import Seen
from ingot.kube.objects import condition

NOW = 1_700_000_000.0
IMPORT, UPLOAD, CLONE = Operation.IMPORT, Operation.UPLOAD, Operation.CLONE


def claim(phase: str = "Pending", **annotations: str) -> Object:
    told = {getattr(names, name): text for name, text in annotations.items()}
    return {
        "metadata": {"name": "disk", "annotations": told},
        "spec": {"volumeName": "pv"} if phase == "Bound" else {},
        "status": {"phase": phase},
    }


def told(seen: Seen, volume: Object | None = None, now: float = NOW) -> Object:
    volume = volume or {"metadata": {"name": "disk", "generation": 3}}
    status.write(volume, seen, now)
    return volume


def conditions(volume: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in volume["status"]["conditions"]}


@pytest.mark.parametrize(
    ("operation", "given", "phase"),
    [
        (IMPORT, {}, "ImportScheduled"),
        (IMPORT, {"POD_PHASE": "Pending"}, "ImportScheduled"),
        (IMPORT, {"POD_PHASE": "Running"}, "ImportInProgress"),
        (IMPORT, {"POD_PHASE": "Failed"}, "ImportScheduled"),
        (IMPORT, {"POD_PHASE": "Succeeded"}, "ImportInProgress"),
        (UPLOAD, {}, "UploadScheduled"),
        (UPLOAD, {"POD_PHASE": "Running"}, "UploadScheduled"),
        (UPLOAD, {"POD_PHASE": "Running", "POD_READY": "true"}, "UploadReady"),
        (UPLOAD, {"POD_PHASE": "Succeeded"}, "RebindInProgress"),
        (CLONE, {}, "CloneScheduled"),
        (CLONE, {"CLONE_TYPE": "copy", "POD_PHASE": "Running"}, "CloneInProgress"),
        (CLONE, {"CLONE_TYPE": "csi-clone"}, "CSICloneInProgress"),
        (CLONE, {"CLONE_TYPE": "snapshot"}, "SnapshotForSmartCloneInProgress"),
        (CLONE, {"CLONE_TYPE": "csi-clone", "POD_PHASE": "Succeeded"}, "RebindInProgress"),
        (
            CLONE,
            {"CLONE_TYPE": "copy", "POD_PHASE": "Running", "RUNNING_REASON": "RebindInProgress"},
            "RebindInProgress",
        ),
    ],
)
def test_the_phase_while_it_is_filled(operation: Operation, given: dict[str, str], phase: str) -> None:
    volume = told(Seen(claim=claim(**given), operation=operation))
    assert volume["status"]["phase"] == phase
    assert volume["status"]["progress"] == "N/A"
    assert volume["status"]["claimName"] == "disk"
    assert conditions(volume)["Bound"] == ("False", "Pending")
    assert conditions(volume)["Ready"][0] == "False"


def test_restarts_are_counted_before_there_is_a_claim() -> None:
    """As where the size of the image is looked for."""
    fault = VolumeFault("NotFound", "404; restart 3 of 3, tried again", phase="ImportScheduled", restarts=2)
    assert told(Seen(fault=fault))["status"]["restartCount"] == 2


@pytest.mark.parametrize("operation", [IMPORT, UPLOAD, CLONE])
def test_it_has_succeeded_when_the_claim_has_its_volume_and_the_populator_says_so(operation: Operation) -> None:
    early = told(Seen(claim=claim("Bound", POD_PHASE="Running"), operation=operation))
    assert early["status"]["phase"] != "Succeeded"
    volume = told(Seen(claim=claim("Bound", POD_PHASE="Succeeded", POD_RESTARTS="2"), operation=operation))
    assert volume["status"]["phase"] == "Succeeded"
    assert volume["status"]["progress"] == "100.0%"
    assert volume["status"]["restartCount"] == 2
    assert conditions(volume) == {
        "Bound": ("True", "Bound"),
        "Ready": ("True", ""),
        "Running": ("False", "Completed"),
    }


def test_a_claim_that_others_fill_is_ready_when_it_is_bound() -> None:
    assert told(Seen(claim=claim()))["status"]["phase"] == "Pending"
    assert told(Seen(claim=claim(), waits=True))["status"]["phase"] == "PendingPopulation"
    assert told(Seen(claim=claim("Bound")))["status"]["phase"] == "Succeeded"


def test_a_claim_that_takes_an_upload_itself_is_ready_when_that_is_over() -> None:
    assert told(Seen(claim=claim("Bound", UPLOAD_TARGET="")))["status"]["phase"] == "Pending"
    assert told(Seen(claim=claim("Bound", UPLOAD_TARGET=""), waits=True))["status"]["phase"] == "Pending"
    filled = claim("Bound", UPLOAD_TARGET="", POD_PHASE="Succeeded")
    assert told(Seen(claim=filled))["status"]["phase"] == "Succeeded"


def test_what_is_waited_for_is_told() -> None:
    assert told(Seen(claim=claim(), operation=IMPORT, waits=True))["status"]["phase"] == "PendingPopulation"
    assert told(Seen(claim=claim(), filled=True))["status"]["phase"] == "Succeeded"
    queued = told(Seen(claim=claim(QUEUED="number 3 in the queue"), operation=IMPORT))
    assert condition(queued, "Running") == {
        "type": "Running",
        "status": "False",
        "reason": "Queued",
        "message": "number 3 in the queue",
        "lastTransitionTime": "2023-11-14T22:13:20Z",
        "lastHeartbeatTime": "2023-11-14T22:13:20Z",
    }


def test_running_is_what_the_claim_says() -> None:
    running = told(Seen(claim=claim(POD_PHASE="Running", RUNNING="true", RUNNING_REASON="Pod"), operation=IMPORT))
    assert conditions(running)["Running"] == ("True", "Pod")
    assert conditions(running)["Ready"] == ("False", "TransferRunning")
    broken = claim(POD_PHASE="Running", RUNNING="false", RUNNING_REASON="Error", RUNNING_MESSAGE="404; tried again")
    failing = told(Seen(claim=broken, operation=IMPORT))
    assert conditions(failing)["Running"] == ("False", "Error")
    assert conditions(failing)["Ready"] == ("False", "")
    assert conditions(told(Seen(claim=claim(RUNNING="perhaps"), operation=IMPORT)))["Running"][0] == "Unknown"


@pytest.mark.parametrize(
    ("reading", "progress", "transfer"),
    [
        ({"done": 0, "total": 0, "rate": 0}, "N/A", {"done": 0}),
        ({"done": 5, "total": 0, "rate": 2}, "N/A", {"done": 5, "bytesPerSecond": 2}),
        ({"done": 4217, "total": 10000, "rate": 0}, "42.17%", {"done": 4217, "total": 10000}),
        (
            {"done": 1, "total": 10, "rate": 4},
            "10.00%",
            {"done": 1, "total": 10, "bytesPerSecond": 4, "secondsLeft": 3},
        ),
        (
            {"done": 12, "total": 10, "rate": 1},
            "100.00%",
            {"done": 12, "total": 10, "bytesPerSecond": 1, "secondsLeft": 0},
        ),
        ({"done": -1, "total": "many", "rate": 1.5}, "N/A", {"done": 0}),
        ({}, "N/A", None),
        ([1, 2], "N/A", None),
    ],
)
def test_progress_in_bytes(reading: Any, progress: str, transfer: Object | None) -> None:
    volume = told(Seen(claim=claim(POD_PHASE="Running", PROGRESS=json.dumps(reading)), operation=IMPORT))
    assert volume["status"]["progress"] == progress
    assert volume["status"].get("transfer") == transfer


def test_progress_that_is_no_json_is_none() -> None:
    volume = told(Seen(claim=claim(POD_PHASE="Running", PROGRESS="{"), operation=IMPORT))
    assert volume["status"]["progress"] == "N/A"
    assert "transfer" not in volume["status"]


def test_the_transfer_goes_with_its_end() -> None:
    reading = json.dumps({"done": 5, "total": 10, "rate": 1})
    volume = told(Seen(claim=claim(POD_PHASE="Running", PROGRESS=reading), operation=IMPORT))
    assert volume["status"]["transfer"]["secondsLeft"] == 5
    told(Seen(claim=claim("Bound", POD_PHASE="Succeeded", PROGRESS=reading), operation=IMPORT), volume)
    assert "transfer" not in volume["status"]


def test_a_failure_is_told_in_all_conditions_and_keeps_the_progress() -> None:
    reading = json.dumps({"done": 5, "total": 10, "rate": 1})
    volume = told(Seen(claim=claim(POD_PHASE="Running", PROGRESS=reading), operation=IMPORT))
    failure = json.dumps({"reason": "TooLarge", "message": "the image has 2 GiB, the claim 1 GiB; final"})
    told(Seen(claim=claim(FAILURE=failure), operation=IMPORT), volume)
    assert volume["status"]["phase"] == "Failed"
    assert volume["status"]["progress"] == "50.00%"
    assert conditions(volume)["Ready"] == conditions(volume)["Running"] == ("False", "TooLarge")
    assert (condition(volume, "Ready") or {})["message"].endswith("final")


def test_a_failure_that_cannot_be_read_is_one() -> None:
    volume = told(Seen(claim=claim(FAILURE="?"), operation=IMPORT))
    assert volume["status"]["phase"] == "Failed"
    assert conditions(volume)["Ready"] == ("False", "Failed")


def test_a_claim_that_lost_its_volume_has_failed() -> None:
    volume = told(Seen(claim=claim("Lost"), operation=IMPORT))
    assert volume["status"]["phase"] == "Failed"
    assert conditions(volume)["Bound"] == ("False", "ClaimLost")
    assert conditions(volume)["Ready"] == ("False", "ErrClaimLost")


def test_what_is_in_the_way_beside_a_claim_changes_nothing_of_how_far_that_is() -> None:
    fault = VolumeFault("ErrClaimNotValid", "status.origin was refused", retry=10)
    reading = json.dumps({"done": 5, "total": 10, "rate": 1})
    under_way = claim(CLONE_TYPE="copy", POD_PHASE="Running", RUNNING="true", PROGRESS=reading)
    volume = told(Seen(claim=under_way, operation=CLONE, fault=fault))
    assert (volume["status"]["phase"], volume["status"]["progress"]) == ("CloneInProgress", "50.00%")
    assert volume["status"]["claimName"] == "disk"
    assert {kind: each[0] for kind, each in conditions(volume).items()} == {
        "Bound": "False",
        "Ready": "False",
        "Running": "True",
    }
    assert (condition(volume, "Ready") or {})["message"] == "status.origin was refused"
    told(Seen(claim=claim("Bound", POD_PHASE="Succeeded"), operation=CLONE, fault=fault), volume)
    assert (volume["status"]["phase"], conditions(volume)["Ready"][0]) == ("Succeeded", "True")


def test_what_is_in_the_way_is_told_until_it_is_gone() -> None:
    volume = told(Seen(fault=VolumeFault("CloneWithoutSource", "no such claim")))
    assert volume["status"]["phase"] == "Pending"
    assert set(conditions(volume).values()) == {("False", "CloneWithoutSource")}
    told(Seen(claim=claim(), operation=CLONE), volume)
    assert volume["status"]["phase"] == "CloneScheduled"
    assert conditions(volume)["Ready"] == ("False", "")
    told(Seen(fault=VolumeFault("SourceNotDelivered", "final", final=True)), volume)
    assert volume["status"]["phase"] == "Failed"


def test_times_change_with_what_they_are_about() -> None:
    volume = told(Seen(claim=claim(), operation=IMPORT))
    first = dict(condition(volume, "Bound") or {})
    told(Seen(claim=claim(POD_PHASE="Running"), operation=IMPORT), volume, NOW + 60)
    assert condition(volume, "Bound") == first
    told(Seen(claim=claim("Bound", POD_PHASE="Succeeded"), operation=IMPORT), volume, NOW + 120)
    later = condition(volume, "Bound") or {}
    assert later["lastTransitionTime"] == later["lastHeartbeatTime"] == "2023-11-14T22:15:20Z"
    assert "observedGeneration" not in later
