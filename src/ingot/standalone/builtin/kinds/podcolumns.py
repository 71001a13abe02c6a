"""What kubectl shows of a pod: a status that sums up its containers."""

from dataclasses import dataclass

from ingot.api.object import Object
from ingot.standalone.builtin.kinds.kind import AGE
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table import age
from ingot.standalone.table.render import NAME

_NONE = "<none>"


@dataclass(slots=True)
class _Summary:
    """The containers of a pod in four figures."""

    reason: str
    ready: int = 0
    total: int = 0
    restarts: int = 0
    last_restart: str = ""

    def count(self, status: Object) -> None:
        """Adds the restarts of one container."""
        self.restarts += status.get("restartCount", 0)
        self.last_restart = max(self.last_restart, nested(status, "lastState", "terminated", "finishedAt") or "")


def _summary(pod: Object) -> _Summary:
    status, spec = pod.get("status") or {}, pod["spec"]
    made = _Summary(status.get("reason") or status.get("phase") or "", total=len(spec.get("containers") or ()))
    sidecars = {each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}
    made.total += len(sidecars)
    if any(item.get("reason") == "SchedulingGated" for item in _conditions(pod, "PodScheduled")):
        made.reason = "SchedulingGated"
    initializing = _init_containers(pod, made, sidecars)
    if not initializing or any(item.get("status") == "True" for item in _conditions(pod, "Initialized")):
        _containers(pod, made, sidecars)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            made.reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            made.reason = "Terminating"
    return made


def _conditions(pod: Object, kind: str) -> list[Object]:
    return [item for item in nested(pod, "status", "conditions") or () if item.get("type") == kind]


def _init_containers(pod: Object, made: _Summary, sidecars: set[str]) -> bool:
    """Counts init containers up to the first that is not done; whether there is such a one."""
    statuses = nested(pod, "status", "initContainerStatuses") or ()
    for index, status in enumerate(statuses):
        made.count(status)
        state = status.get("state") or {}
        ended, waits = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if status.get("name") in sidecars and status.get("started"):
            made.ready += bool(status.get("ready"))
            continue
        if ended is not None:
            made.reason = f"Init:{_ending(ended)}"
        elif waits.get("reason") and waits["reason"] != "PodInitializing":
            made.reason = f"Init:{waits['reason']}"
        else:
            made.reason = f"Init:{index}/{len(pod['spec']['initContainers'])}"
        return True
    return False


def _ending(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _containers(pod: Object, made: _Summary, sidecars: set[str]) -> None:
    # From here on only what still runs counts: sidecars, and the containers proper.
    made.restarts, made.last_restart = 0, ""
    for status in nested(pod, "status", "initContainerStatuses") or ():
        if status.get("name") in sidecars:
            made.count(status)
    running = False
    for status in reversed(nested(pod, "status", "containerStatuses") or ()):
        made.count(status)
        state = status.get("state") or {}
        ended, waits = state.get("terminated"), state.get("waiting") or {}
        if waits.get("reason"):
            made.reason = waits["reason"]
        elif ended is not None:
            made.reason = _ending(ended)
        elif status.get("ready") and state.get("running") is not None:
            running = True
            made.ready += 1
    if made.reason == "Completed" and running:
        ready = any(item.get("status") == "True" for item in _conditions(pod, "Ready"))
        made.reason = "Running" if ready else "NotReady"


def _restarts(pod: Object) -> str:
    made = _summary(pod)
    if made.restarts and made.last_restart:
        return f"{made.restarts} ({age.since(made.last_restart)} ago)"
    return str(made.restarts)


def _ready(pod: Object) -> str:
    made = _summary(pod)
    return f"{made.ready}/{made.total}"


def _address(pod: Object) -> str:
    listed = nested(pod, "status", "podIPs") or ()
    return (listed[0].get("ip") if listed else "") or _NONE


def _gates(pod: Object) -> str:
    gates = pod["spec"].get("readinessGates") or ()
    if not gates:
        return _NONE
    passed = sum(
        any(item.get("status") == "True" for item in _conditions(pod, gate.get("conditionType", ""))[:1])
        for gate in gates
    )
    return f"{passed}/{len(gates)}"


COLUMNS = (
    NAME,
    Column("Ready", _ready, description="How many of its containers are ready."),
    Column("Status", lambda pod: _summary(pod).reason, description="What its containers are doing."),
    Column("Restarts", _restarts, description="How often its containers were started again."),
    AGE,
    Column("IP", _address, priority=1, description="Its address."),
    Column("Node", lambda pod: pod["spec"].get("nodeName") or _NONE, priority=1, description="Where it runs."),
    Column(
        "Nominated Node",
        lambda pod: nested(pod, "status", "nominatedNodeName") or _NONE,
        priority=1,
        description="Where room is being made for it.",
    ),
    Column("Readiness Gates", _gates, priority=1, description="How many of its further conditions hold."),
)
