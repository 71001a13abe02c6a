"""Run strategies: whether a machine's instance is to be started, stopped or left alone."""

from enum import StrEnum

from ingot.api.kubevirt import phase
from ingot.api.object import Object, uid_of
from ingot.kube.objects import is_deleting

ALWAYS = "Always"
RERUN = "RerunOnFailure"
ONCE = "Once"
MANUAL = "Manual"
HALTED = "Halted"

# Those under which a machine runs without being asked to.
BY_ITSELF = frozenset({ALWAYS, RERUN, ONCE})


class Action(StrEnum):
    NOTHING = "nothing"
    START = "start"
    STOP = "stop"
    # Ask for a stop and then a start, by requests that outlive us.
    RESTART = "restart"
    # Somebody asks a halted machine to start: from now on it runs.
    SWITCH_ON = "switch on"


def strategy_of(machine: Object) -> str:
    """The machine's run strategy, in whichever of the two ways it is given."""
    spec = machine["spec"]
    return str(spec.get("runStrategy") or (ALWAYS if spec.get("running") else HALTED))


def requests_of(machine: Object) -> list[Object]:
    return list((machine.get("status") or {}).get("stateChangeRequests") or ())


def wants_start(machine: Object) -> bool:
    return [each["action"] for each in requests_of(machine)[:1]] == ["Start"]


def is_set_to_start(machine: Object, instance: Object | None) -> bool:
    """Whether the machine runs or would, were nothing in the way."""
    return strategy_of(machine) in BY_ITSELF or instance is not None or wants_start(machine)


def decide(machine: Object, instance: Object | None) -> Action:
    """The next step for a machine with that instance; one that is being deleted is waited for."""
    if instance is None:
        return _without(machine)
    if is_deleting(instance):
        return Action.NOTHING
    return _with(machine, instance)


def _without(machine: Object) -> Action:
    strategy, asked = strategy_of(machine), wants_start(machine)
    if strategy == HALTED:
        return Action.SWITCH_ON if asked else Action.NOTHING
    # A strategy that was not followed before begins with a start; one that was has had its start.
    is_new = (machine.get("status") or {}).get("runStrategy") != strategy
    if strategy == ALWAYS or asked or (strategy in BY_ITSELF and is_new):
        return Action.START
    return Action.NOTHING


def _with(machine: Object, instance: Object) -> Action:
    strategy = strategy_of(machine)
    first = (requests_of(machine) or [{}])[0]
    if strategy == HALTED or (first.get("action") == "Stop" and first.get("uid") == uid_of(instance)):
        return Action.STOP
    if not phase.is_final(instance) or strategy == ONCE:
        return Action.NOTHING
    if strategy == RERUN and phase.phase_of(instance) == phase.FAILED:
        return Action.RESTART
    return Action.STOP


def outstanding(machine: Object, instance: Object | None) -> list[Object]:
    """The requests that are not done yet, in order: the first one is worked on."""
    waiting = requests_of(machine)
    while waiting and _is_done(waiting[0], instance):
        waiting.pop(0)
    return waiting


def _is_done(request: Object, instance: Object | None) -> bool:
    there = instance is not None and not is_deleting(instance)
    if request["action"] == "Start":
        return there
    return not there or request.get("uid") != uid_of(instance or {})


def restart_of(instance: Object) -> list[Object]:
    """The requests that stop this instance and start another."""
    return [{"action": "Stop", "uid": uid_of(instance)}, {"action": "Start"}]
