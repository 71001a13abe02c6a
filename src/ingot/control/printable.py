"""`status.printableStatus` of a machine: its state in one word, the first that fits, as KubeVirt has them."""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.object import Object
from ingot.control.strategy import BY_ITSELF, is_set_to_start, strategy_of
from ingot.kube.objects import condition, is_deleting, is_true

# DataVolumes in these phases wait for a pod, not for data.
_UNBOUND = frozenset({"WaitForFirstConsumer", "PendingPopulation"})
_DONE = _UNBOUND | {"Succeeded"}


def printable(
    machine: Object, instance: Object | None, data_volumes: Iterable[Object], claims: Iterable[Object]
) -> str:
    """The word for a machine with that instance; `data_volumes` and `claims` are those of its template's volumes."""
    if is_deleting(machine):
        return "Terminating"
    if instance is not None and not phase.is_final(instance) and is_deleting(instance):
        return "Stopping"
    if instance is not None and phase.phase_of(instance) == phase.RUNNING:
        return "Paused" if is_true(instance, "Paused") else "Running"
    return _trouble(instance) or _storage(machine, instance, data_volumes, claims) or _rest(machine, instance)


def _trouble(instance: Object | None) -> str:
    if instance is None or phase.is_final(instance):
        return ""
    reason = (condition(instance, "Synchronized") or {}).get("reason")
    if reason == "FailedPvcNotFound":
        return "ErrorPvcNotFound"
    if reason == "FailedDataVolumeImport":
        return "DataVolumeError"
    if reason == "VolumeSourceNotSupported":
        return "ErrorUnschedulable"
    unplaced = condition(instance, "PodScheduled") or {}
    if unplaced.get("status") == "False" and unplaced.get("reason") == "Unschedulable":
        return "ErrorUnschedulable"
    return ""


def _storage(machine: Object, instance: Object | None, data_volumes: Iterable[Object], claims: Iterable[Object]) -> str:
    if instance is not None and phase.phase_of(instance) not in phase.EARLY:
        return ""
    phases = {(each.get("status") or {}).get("phase") or "" for each in data_volumes}
    if "Failed" in phases:
        return "DataVolumeError"
    if phases - _DONE:
        return "Provisioning"
    unbound = any((each.get("status") or {}).get("phase") == "Pending" for each in claims)
    if (unbound or phases & _UNBOUND) and is_set_to_start(machine, instance):
        return "WaitingForVolumeBinding"
    return ""


def _rest(machine: Object, instance: Object | None) -> str:
    if instance is not None and not phase.is_final(instance):
        known = phase.phase_of(instance) in phase.EARLY | {phase.SCHEDULED}
        return "Starting" if known else "Unknown"
    failures = ((machine.get("status") or {}).get("startFailure") or {}).get("consecutiveFailCount", 0)
    return "CrashLoopBackOff" if failures and strategy_of(machine) in BY_ITSELF else "Stopped"
