"""Which pods a pod must share a place with, and which it must not: required affinity and anti-affinity."""

from collections.abc import Iterable

from ingot.api.object import Object, namespace_of
from ingot.kube.cache import Cache, Key
from ingot.standalone.scheduler.ledger import Ledger, Placed
from ingot.standalone.scheduler.refusal import Refusal
from ingot.standalone.scheduler.selectors import labels_of, selects

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FAR = Refusal(("node(s) didn't match pod affinity rules",))
_NEAR = Refusal(("node(s) didn't match pod anti-affinity rules",), resolvable=True)
_UNWELCOME = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), resolvable=True)


def wants_neighbours(pod: Object) -> bool:
    """Whether a pod that comes to a node may be what this one waits for."""
    return bool(_terms(pod, "podAffinity"))


def _terms(pod: Object, kind: str) -> list[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return list(affinity.get(_REQUIRED) or ())


class Neighbours:
    """Looks at the pods in the ledger, wherever they are."""

    def __init__(self, ledger: Ledger, nodes: Cache, namespaces: Cache) -> None:
        self._ledger = ledger
        self._nodes = nodes
        self._namespaces = namespaces

    def refusal(self, pod: Object, node: Object) -> Refusal | None:
        """Why the pods around the node keep this one away, in the order in which kube-scheduler asks."""
        if not self._is_near(pod, node):
            return _FAR
        for term in _terms(pod, "podAntiAffinity"):
            if self._here(term, node, self._chosen(pod, term)):
                return _NEAR
        for placed in self._ledger.everywhere():
            for term in _terms(placed.pod, "podAntiAffinity"):
                if self._matches(placed.pod, term, pod) and self._here(term, node, (placed,)):
                    return _UNWELCOME
        return None

    def _is_near(self, pod: Object, node: Object) -> bool:
        terms = _terms(pod, "podAffinity")
        if any(term["topologyKey"] not in labels_of(node) for term in terms):
            return False
        if all(self._here(term, node, self._chosen(pod, term)) for term in terms):
            return True
        # The first of a group that wants to be together has nobody to join.
        is_first = not any(self._chosen(pod, term) for term in terms)
        return is_first and all(self._matches(pod, term, pod) for term in terms)

    def _chosen(self, pod: Object, term: Object) -> list[Placed]:
        """The placed pods that a term of the pod speaks of."""
        return [placed for placed in self._ledger.everywhere() if self._matches(pod, term, placed.pod)]

    def _here(self, term: Object, node: Object, chosen: Iterable[Placed]) -> bool:
        """Whether one of the pods is in the same place as the node, by the term's kind of place."""
        key = term["topologyKey"]
        place = labels_of(node).get(key)
        if place is None:
            return False
        nodes = (self._nodes.get(Key("", placed.node)) for placed in chosen)
        return any(other is not None and labels_of(other).get(key) == place for other in nodes)

    def _matches(self, owner: Object, term: Object, other: Object) -> bool:
        """Whether `other` is one of the pods that a term of `owner` speaks of."""
        return self._in_reach(owner, term, namespace_of(other)) and selects(_selector(owner, term), labels_of(other))

    def _in_reach(self, owner: Object, term: Object, namespace: str) -> bool:
        names, selector = term.get("namespaces") or (), term.get("namespaceSelector")
        if namespace in names:
            return True
        if selector is None:
            return not names and namespace == namespace_of(owner)
        found = self._namespaces.get(Key("", namespace))
        return found is not None and selects(selector, labels_of(found))


def _selector(owner: Object, term: Object) -> Object | None:
    """The term's selector, with the labels of its owner that it asks others to have, or not to have, as well."""
    selector: Object | None = term.get("labelSelector")
    if selector is None:
        return None
    own = labels_of(owner)
    same = [(key, "In") for key in term.get("matchLabelKeys") or () if key in own]
    other = [(key, "NotIn") for key in term.get("mismatchLabelKeys") or () if key in own]
    added = [{"key": key, "operator": operator, "values": [own[key]]} for key, operator in same + other]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *added]}
