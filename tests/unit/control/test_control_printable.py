"""The one word that `kubectl get vm` shows."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.control.printable import printable


def machine(strategy: str = "Always", **status: Any) -> Object:
    return {"metadata": {}, "spec": {"runStrategy": strategy}, "status": status}


def instance(phase: str, *conditions: Object, **metadata: Any) -> Object:
    return {"metadata": metadata, "status": {"phase": phase, "conditions": list(conditions)}}


def told(kind: str, status: str, reason: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason}


def filled(phase: str) -> Object:
    return {"status": {"phase": phase}}


CRASHED = {"startFailure": {"consecutiveFailCount": 2}}


@pytest.mark.parametrize(
    ("instance", "word"),
    [
        (instance("Running"), "Running"),
        (instance("Running", told("Paused", "True")), "Paused"),
        (instance("Running", deletionTimestamp="now"), "Stopping"),
        (instance("Running", told("PodScheduled", "False", "Unschedulable")), "Running"),
        (instance(""), "Starting"),
        (instance("Scheduled"), "Starting"),
        (instance("Scheduling", told("PodScheduled", "False", "Unschedulable")), "ErrorUnschedulable"),
        (instance("Pending", told("Synchronized", "False", "FailedPvcNotFound")), "ErrorPvcNotFound"),
        (instance("Pending", told("Synchronized", "False", "FailedDataVolumeImport")), "DataVolumeError"),
        (instance("Pending", told("Synchronized", "False", "VolumeSourceNotSupported")), "ErrorUnschedulable"),
        (instance("Failed", deletionTimestamp="now"), "Stopped"),
        (instance("Succeeded"), "Stopped"),
        (instance("Unknown"), "Unknown"),
        (None, "Stopped"),
    ],
)
def test_by_its_instance(instance: Object | None, word: str) -> None:
    assert printable(machine(), instance, [], []) == word


@pytest.mark.parametrize(
    ("phase", "word"),
    [
        ("", "Provisioning"),
        ("ImportInProgress", "Provisioning"),
        ("Failed", "DataVolumeError"),
        ("WaitForFirstConsumer", "WaitingForVolumeBinding"),
        ("Succeeded", "Stopped"),
    ],
)
def test_by_its_data_volumes(phase: str, word: str) -> None:
    assert printable(machine(), None, [filled("Succeeded"), filled(phase)], []) == word
    assert printable(machine(), instance("Running"), [filled(phase)], []) == "Running"


def test_a_claim_that_is_not_bound_matters_to_a_machine_that_is_to_run() -> None:
    assert printable(machine("Always"), None, [], [filled("Pending")]) == "WaitingForVolumeBinding"
    assert printable(machine("Halted"), None, [], [filled("Pending")]) == "Stopped"
    assert printable(machine("Always"), None, [], [filled("Bound")]) == "Stopped"


def test_failed_starts() -> None:
    assert printable(machine("Always", **CRASHED), None, [], []) == "CrashLoopBackOff"
    assert printable(machine("Always", **CRASHED), instance("Failed"), [], []) == "CrashLoopBackOff"
    assert printable(machine("Always", **CRASHED), instance("Scheduling"), [], []) == "Starting"
    assert printable(machine("Manual", **CRASHED), None, [], []) == "Stopped"


def test_a_machine_that_is_being_deleted() -> None:
    going = machine() | {"metadata": {"deletionTimestamp": "now"}}
    assert printable(going, instance("Running"), [], []) == "Terminating"
