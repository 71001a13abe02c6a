"""What a node must be and have to take a pod: each filter says why not, or nothing."""

from collections.abc import Callable

from ingot.api.object import Object, name_of
from ingot.standalone.scheduler.amounts import Amounts, amounts, requests
from ingot.standalone.scheduler.ledger import Ledger, ports_of
from ingot.standalone.scheduler.refusal import Refusal
from ingot.standalone.scheduler.selectors import labels_of, node_selected

UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPING_AWAY = ("NoSchedule", "NoExecute")
# A node that does not say how many pods it takes, takes as many as a kubelet does that was told nothing.
_MOST_PODS = 110

Filter = Callable[[Object, Object, Ledger], Refusal | None]


def is_cordoned(pod: Object, node: Object, _: Ledger) -> Refusal | None:
    if node["spec"].get("unschedulable") and not _tolerated(pod, UNSCHEDULABLE_TAINT):
        return Refusal(("node(s) were unschedulable",))
    return None


def has_taint(pod: Object, node: Object, _: Ledger) -> Refusal | None:
    for taint in node["spec"].get("taints") or ():
        if taint.get("effect") in _KEEPING_AWAY and not _tolerated(pod, taint):
            shown = f"{taint['key']}: {taint.get('value', '')}"
            return Refusal((f"node(s) had untolerated taint {{{shown}}}",))
    return None


def _tolerated(pod: Object, taint: Object) -> bool:
    return any(tolerates(toleration, taint) for toleration in pod["spec"].get("tolerations") or ())


def tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def is_not_selected(pod: Object, node: Object, _: Ledger) -> Refusal | None:
    wanted, labels = pod["spec"].get("nodeSelector") or {}, labels_of(node)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    matches = all(labels.get(key) == value for key, value in wanted.items())
    if matches and node_selected(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"), node):
        return None
    return Refusal(("node(s) didn't match Pod's node affinity/selector",))


def lacks_ports(pod: Object, node: Object, ledger: Ledger) -> Refusal | None:
    wanted = ports_of(pod)
    if wanted:
        taken = [port for placed in ledger.on(name_of(node)) for port in placed.ports]
        if any(port.clashes(other) for port in wanted for other in taken):
            return Refusal(("node(s) didn't have free ports for the requested pod ports",), resolvable=True)
    return None


def lacks_resources(pod: Object, node: Object, ledger: Ledger) -> Refusal | None:
    has, taken = allocatable(node), ledger.taken(name_of(node))
    lacking = []
    if taken.get("pods", 0) + 1 > has.get("pods", _MOST_PODS):
        lacking.append("Too many pods")
    for name, asked in requests(pod).items():
        if asked and taken.get(name, 0) + asked > has.get(name, 0):
            lacking.append(f"Insufficient {name}")
    return Refusal(tuple(lacking), resolvable=True) if lacking else None


def allocatable(node: Object) -> Amounts:
    status = node.get("status") or {}
    return amounts(status.get("allocatable") or status.get("capacity"))


# In kube-scheduler's order: the first that refuses is the one that people read.
FILTERS: tuple[Filter, ...] = (is_cordoned, has_taint, is_not_selected, lacks_ports, lacks_resources)
