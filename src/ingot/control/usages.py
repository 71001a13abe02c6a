"""Usage types: which ones an instance needs on its node, and which nodes offer them (B6)."""

from collections.abc import Iterable

from ingot.api.kubevirt.names import offered_usages
from ingot.api.kubevirt.usage import DEFAULT_USAGE
from ingot.api.object import Object, name_of

# Disks that are made in the node's own storage.
_MADE = ("emptyDisk", "ephemeral")


def usage_of(volume: Object) -> str | None:
    """The usage type of the storage that a volume's local data is kept in; None for one that has none."""
    copy = volume.get("copy") or {}
    if copy.get("mode", "none") != "none":
        return str(copy.get("usageType") or DEFAULT_USAGE)
    return DEFAULT_USAGE if any(source in volume for source in _MADE) else None


def wanted(spec: Object) -> dict[str, str]:
    """Usage type → the first volume that wants it."""
    found: dict[str, str] = {}
    for volume in spec.get("volumes") or ():
        if usage := usage_of(volume):
            found.setdefault(usage, volume["name"])
    return found


def missing(spec: Object, nodes: Iterable[Object]) -> str:
    """What no node offers, for a person; "" if all is offered. Every node has the default one, sooner or later."""
    offers: dict[str, list[str]] = {}
    for node in nodes:
        for usage in offered_usages(node):
            offers.setdefault(usage, []).append(name_of(node))
    for usage, volume in wanted(spec).items():
        if usage not in offers and usage != DEFAULT_USAGE:
            told = "; ".join(f"{name} by {', '.join(sorted(by))}" for name, by in sorted(offers.items()))
            return (
                f'volume "{volume}" wants storage of usage type "{usage}" (copy.usageType), which no node offers. '
                f"Offered: {told or 'nothing'}. The machine starts by itself once a node offers it"
            )
    return ""
