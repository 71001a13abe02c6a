"""What a machine's status says, out of its instance, its volumes and what went wrong."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ingot.api.object import Object
from ingot.control import backoff, datavolumes, strategy
from ingot.control.fault import InstanceFault
from ingot.control.printable import printable
from ingot.control.template import is_outdated, observed_generation
from ingot.control.writing import drop_condition
from ingot.kube.objects import condition, is_true, set_condition

FAILURE = "Failure"
RESTART_REQUIRED = "RestartRequired"
DATA_VOLUMES_READY = "DataVolumesReady"
_OWN = (FAILURE, RESTART_REQUIRED)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a machine's controller saw, and what it did."""

    instance: Object | None
    action: strategy.Action
    data_volumes: Iterable[Object] = field(default_factory=list)
    claims: Iterable[Object] = field(default_factory=list)
    fault: InstanceFault | None = None


def write(machine: Object, seen: Observation, now: float) -> None:
    """Bring the machine's status up to what was seen."""
    status, instance = machine.setdefault("status", {}), seen.instance
    status["created"] = instance is not None
    status["ready"] = instance is not None and is_true(instance, "Ready")
    # A start that has not come about is still to come, also for those who start once.
    if seen.fault is None and (seen.action is not strategy.Action.START or instance is not None):
        status["runStrategy"] = strategy.strategy_of(machine)
    _requests(machine, seen)
    _generations(machine, instance)
    backoff.note(machine, instance, now)
    _conditions(machine, seen, now)
    status["printableStatus"] = printable(machine, instance, seen.data_volumes, seen.claims)


def _requests(machine: Object, seen: Observation) -> None:
    waiting = strategy.outstanding(machine, seen.instance)
    if seen.action is strategy.Action.RESTART and seen.instance and not waiting:
        waiting = strategy.restart_of(seen.instance)
    if waiting:
        machine["status"]["stateChangeRequests"] = waiting
    else:
        machine["status"].pop("stateChangeRequests", None)


def _generations(machine: Object, instance: Object | None) -> None:
    status = machine["status"]
    status["desiredGeneration"] = machine["metadata"]["generation"]
    observed = observed_generation(machine, instance) if instance else machine["metadata"]["generation"]
    if observed is not None:
        status["observedGeneration"] = observed


def _conditions(machine: Object, seen: Observation, now: float) -> None:
    instance = seen.instance
    _mirror(machine, instance, now)
    _data_volumes(machine, seen, now)
    if seen.fault:
        set_condition(machine, FAILURE, True, seen.fault.reason, seen.fault.message, now)
    else:
        drop_condition(machine, FAILURE)
    if instance is not None and is_outdated(machine, instance):
        message = "the template was changed after the instance was started: a restart makes it so"
        set_condition(machine, RESTART_REQUIRED, True, "TemplateChanged", message, now)
    else:
        drop_condition(machine, RESTART_REQUIRED)


def _data_volumes(machine: Object, seen: Observation, now: float) -> None:
    """What a machine waits for that has no instance; of one that has, the instance tells."""
    if seen.instance is not None:
        return
    if lacking := datavolumes.lacking(seen.data_volumes):
        set_condition(machine, DATA_VOLUMES_READY, False, "NotAllDVsReady", lacking, now)
    else:
        drop_condition(machine, DATA_VOLUMES_READY)


def _mirror(machine: Object, instance: Object | None, now: float) -> None:
    """The instance's conditions, beside our own."""
    own = [each for kind in _OWN if (each := condition(machine, kind))]
    if instance is None:
        kept = [each for kind in ("Ready", DATA_VOLUMES_READY) if (each := condition(machine, kind))]
        machine["status"]["conditions"] = [*kept, *own]
        set_condition(machine, "Ready", False, "VMINotExists", "VMI does not exist", now)
        return
    theirs = (instance.get("status") or {}).get("conditions") or ()
    # Generations are those of the instance, which say nothing here.
    mirrored = [{key: value for key, value in each.items() if key != "observedGeneration"} for each in theirs]
    machine["status"]["conditions"] = [*mirrored, *own]
