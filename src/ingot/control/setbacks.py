"""Claims that get no volume: the last thing that went wrong with each, which only events tell."""

from collections.abc import Iterable

from ingot.api.object import Object, uid_of
from ingot.api.resources import EVENTS
from ingot.kube.manager import Manager

_TOLD = frozenset({"ProvisioningFailed", "FailedBinding"})
_INDEX = "setback"


def _claim_of(event: Object) -> Iterable[str]:
    return [event["involvedObject"].get("uid", "")] if event.get("reason") in _TOLD else []


def _when(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp", ""))


class Setbacks:
    """Events of claims, out of a cache."""

    def __init__(self, manager: Manager) -> None:
        self.events = manager.informer(EVENTS, field_selector="involvedObject.kind=PersistentVolumeClaim")
        self.events.cache.add_index(_INDEX, _claim_of)

    def last(self, claim: Object) -> str:
        """What was last said of a claim that has no volume; "" where nothing was."""
        found = max(self.events.cache.by_index(_INDEX, uid_of(claim)), key=_when, default=None)
        return str((found or {}).get("message") or "")
