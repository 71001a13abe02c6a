"""What is left in a namespace that is on its way out, as its conditions tell it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ingot.api.object import Object

# By type, in the order in which they are listed: the reason and the message when all is well.
_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class Remains:
    """Counts of the objects that are left, by resource, and of the finalizers that hold them."""

    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)

    def add(self, group: str, plural: str, finalizers: Iterable[str]) -> None:
        self.resources[f"{plural}.{group} has"] += 1
        self.finalizers.update(f"{finalizer} in" for finalizer in finalizers)

    def conditions(self, before: Iterable[Object], now: str) -> list[Object]:
        """The namespace's conditions; one whose status is the same keeps the time of its last transition."""
        found = {condition["type"]: condition for condition in before}
        others = [condition for kind, condition in found.items() if kind not in _WELL]
        return others + [self._condition(kind, found.get(kind, {}), now) for kind in _WELL]

    def _condition(self, kind: str, before: Object, now: str) -> Object:
        reason, message = _WELL[kind]
        wrong = False
        if kind == "NamespaceContentRemaining" and self.resources:
            wrong, reason = True, "SomeResourcesRemain"
            message = f"Some resources are remaining: {_listed(self.resources)}"
        if kind == "NamespaceFinalizersRemaining" and self.finalizers:
            wrong, reason = True, "SomeFinalizersRemain"
            message = f"Some content in the namespace has finalizers remaining: {_listed(self.finalizers)}"
        status = "True" if wrong else "False"
        since = before["lastTransitionTime"] if before.get("status") == status else now
        return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}


def _listed(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{what} {count} resource instances" for what, count in counts.items()))
