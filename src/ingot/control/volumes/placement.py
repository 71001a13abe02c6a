"""On which node a volume is, for volumes that are on one."""

from ingot.api.object import Object, name_of
from ingot.kube.cache import Cache

DELAYED = "WaitForFirstConsumer"
_HOSTNAME = "kubernetes.io/hostname"


def is_delayed(storage_class: Object | None) -> bool:
    """Whether claims of that class wait until a pod wants them."""
    return (storage_class or {}).get("volumeBindingMode") == DELAYED


def node_of(volume: Object | None, nodes: Cache) -> Object | None:
    """The one node that the volume can be reached from; None where there are several, or none is named."""
    hosts = hosts_of(volume)
    if len(hosts) != 1:
        return None
    host = hosts.pop()
    return next((node for node in nodes.list() if _labels(node).get(_HOSTNAME, name_of(node)) == host), None)


def hosts_of(volume: Object | None) -> set[str]:
    """The hosts that the volume can be reached from, by their labels; none where it does not say."""
    required = ((volume or {}).get("spec", {}).get("nodeAffinity") or {}).get("required") or {}
    return {host for term in required.get("nodeSelectorTerms") or () for host in _hosts(term)}


def _hosts(term: Object) -> list[str]:
    wanted = (each for each in term.get("matchExpressions") or () if each.get("key") == _HOSTNAME)
    return [str(value) for each in wanted if each.get("operator") == "In" for value in each.get("values") or ()]


def _labels(node: Object) -> dict[str, str]:
    return dict(node["metadata"].get("labels") or {})
