"""Of several nodes that would take a pod, the best: the one it prefers, then the emptiest."""

from collections.abc import Sequence

from ingot.api.object import Object, name_of
from ingot.standalone.scheduler.amounts import CPU, MEMORY, requests
from ingot.standalone.scheduler.filters import allocatable, tolerates
from ingot.standalone.scheduler.ledger import Ledger
from ingot.standalone.scheduler.selectors import term_selects

_HIGHEST = 100.0
# kube-scheduler's weights.
_AFFINITY_WEIGHT = 2
_TAINT_WEIGHT = 3


def best(pod: Object, nodes: Sequence[Object], ledger: Ledger) -> Object:
    """The node with the highest score; of equals the first by name, so that two tries agree."""
    if len(nodes) == 1:
        return nodes[0]
    preferred = _spread([_preference(pod, node) for node in nodes])
    avoided = _spread([_avoided(pod, node) for node in nodes])
    scores = {}
    for node, liked, disliked in zip(nodes, preferred, avoided, strict=True):
        scores[name_of(node)] = (
            _AFFINITY_WEIGHT * liked + _TAINT_WEIGHT * (_HIGHEST - disliked) + _free(pod, node, ledger)
        )
    return min(nodes, key=lambda node: (-scores[name_of(node)], name_of(node)))


def _spread(raw: list[int]) -> list[float]:
    """Scaled so that the largest is the highest score."""
    largest = max(raw)
    return [_HIGHEST * value / largest if largest > 0 else 0.0 for value in raw]


def _preference(pod: Object, node: Object) -> int:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(term["weight"] for term in terms if term_selects(term["preference"], node))


def _avoided(pod: Object, node: Object) -> int:
    """How many of the taints that only discourage are not tolerated."""
    tolerations = pod["spec"].get("tolerations") or ()
    taints = [taint for taint in node["spec"].get("taints") or () if taint.get("effect") == "PreferNoSchedule"]
    return sum(not any(tolerates(each, taint) for each in tolerations) for taint in taints)


def _free(pod: Object, node: Object, ledger: Ledger) -> float:
    """How much of cpu and memory would be left, in parts of a hundred."""
    has, taken, asked = allocatable(node), ledger.taken(name_of(node)), requests(pod)
    shares = []
    for name in (CPU, MEMORY):
        if has.get(name):
            left = has[name] - taken.get(name, 0) - asked.get(name, 0)
            shares.append(_HIGHEST * max(left, 0) / has[name])
    return sum(shares) / len(shares) if shares else 0.0
