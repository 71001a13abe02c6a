"""What an object gets from others when it is created: an account and its token, a priority, an address, a class.

`default` and `validate` of a Definition look at one object only; these look around in the store. They run after
`default` and before `validate`, as Kubernetes' admission does.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.quantity import Quantity
from ingot.api.status import forbidden
from ingot.standalone import generated
from ingot.standalone.builtin import serviceips
from ingot.standalone.builtin.kinds.claim import class_of
from ingot.standalone.builtin.kinds.persistentvolume import note_phase
from ingot.standalone.builtin.kinds.poddefaults import containers, tolerate_lost_nodes
from ingot.standalone.builtin.kinds.storageclass import is_default
from ingot.standalone.paths import nested

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  # a path, no password
ROOT_CA = "kube-root-ca.crt"
# A little more than an hour, so that whoever mounts it can tell a default from a wish.
_TOKEN_SECONDS = 3607
# What holds storage until nothing uses it any more; see lifecycle.protection.
PROTECTION = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
}
# What keeps pods away from a node until it is ready; see lifecycle.nodes.
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Lookup(NamedTuple):
    """How admission sees the store: by storage key, such as `serviceaccounts` or `storageclasses.storage.k8s.io`."""

    get: Callable[[str, str, str], Object | None]
    list: Callable[[str], Iterable[Object]]


def admit(key: str, new: Object, old: Object | None, lookup: Lookup) -> None:
    """Completes an object of the storage key `key`, in place; `old` is None on create. Raises ApiError to refuse."""
    if old is None and key in PROTECTION:
        _hold(new["metadata"].setdefault("finalizers", []), PROTECTION[key])
    if old is None and key in _ON_CREATE:
        _ON_CREATE[key](new, lookup)
    elif old is not None and key == "pods":
        _changed_pod(new, old)
    elif old is not None and key == "services":
        serviceips.keep(new, old)
    elif old is not None and key == "persistentvolumes":
        note_phase(new, old)
    elif old is not None and key == "persistentvolumeclaims":
        _resize(new, old, lookup)


def _namespace(namespace: Object, _: Lookup) -> None:
    """A new namespace is held by its contents."""
    _hold(namespace["spec"].setdefault("finalizers", []), "kubernetes")


def _hold(finalizers: list[str], by: str) -> None:
    if by not in finalizers:
        finalizers.append(by)


def _node(node: Object, _: Lookup) -> None:
    taints = node["spec"].setdefault("taints", [])
    if all((taint.get("key"), taint.get("effect")) != tuple(NOT_READY.values()) for taint in taints):
        taints.append(dict(NOT_READY))


def _pod(pod: Object, lookup: Lookup) -> None:
    _priority(pod, lookup)
    spec = pod["spec"]
    name = spec.setdefault("serviceAccountName", "default")
    spec["serviceAccount"] = name
    namespace = namespace_of(pod)
    account = lookup.get("serviceaccounts", namespace, name)
    if account is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden("", "pods", name_of(pod), why)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    tolerate_lost_nodes(spec)
    mounts = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    if mounts:
        _mount_token(spec)


def _priority(pod: Object, lookup: Lookup) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    if name:
        chosen = lookup.get("priorityclasses.scheduling.k8s.io", "", name)
        if chosen is None:
            raise forbidden("", "pods", name_of(pod), f"no PriorityClass with name {name} was found")
    else:
        classes = lookup.list("priorityclasses.scheduling.k8s.io")
        chosen = next((each for each in classes if each.get("globalDefault")), None)
    if chosen is not None:
        spec["priorityClassName"] = name_of(chosen)
        spec["priority"] = chosen["value"]
        spec["preemptionPolicy"] = chosen["preemptionPolicy"]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _changed_pod(new: Object, old: Object) -> None:
    """A pod keeps what admission gave it, whatever its writer knows of that."""
    for key in ("priority", "preemptionPolicy"):
        if key in old["spec"]:
            new["spec"].setdefault(key, old["spec"][key])
    tolerate_lost_nodes(new["spec"])


def _mount_token(spec: Object) -> None:
    """Lets every container reach the API as the pod's account, unless it has something of its own at that place."""
    volume = "kube-api-access-" + generated.suffix()
    needy = [
        container
        for container in containers(spec)
        if all(mount.get("mountPath") != TOKEN_PATH for mount in container.get("volumeMounts") or ())
    ]
    for container in needy:
        mount = {"name": volume, "readOnly": True, "mountPath": TOKEN_PATH}
        container.setdefault("volumeMounts", []).append(mount)
    if needy:
        spec.setdefault("volumes", []).append({"name": volume, "projected": _token_volume()})


def _token_volume() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


def _claim(claim: Object, lookup: Lookup) -> None:
    """A claim that names no class gets the default one; of several, the newest, and of those the first by name."""
    if "storageClassName" in claim["spec"]:
        return
    defaults = [each for each in lookup.list("storageclasses.storage.k8s.io") if is_default(each)]
    if defaults:
        named = sorted(defaults, key=name_of)
        newest = max(named, key=lambda each: str(each["metadata"].get("creationTimestamp", "")))
        claim["spec"]["storageClassName"] = name_of(newest)


def _resize(claim: Object, old: Object, lookup: Lookup) -> None:
    """A claim may grow only where its class lets it."""
    size = Quantity.parse(nested(claim, "spec", "resources", "requests", "storage") or "0").exact
    before = Quantity.parse(nested(old, "spec", "resources", "requests", "storage") or "0").exact
    if size <= before or nested(old, "status", "phase") != "Bound":
        return
    chosen = lookup.get("storageclasses.storage.k8s.io", "", class_of(claim))
    if chosen is None or not chosen.get("allowVolumeExpansion"):
        why = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            "must support resize"
        )
        raise forbidden("", "persistentvolumeclaims", name_of(claim), why)


def _service(service: Object, lookup: Lookup) -> None:
    serviceips.allocate(service, lookup.list("services"))


_ON_CREATE: dict[str, Callable[[Object, Lookup], None]] = {
    "namespaces": _namespace,
    "nodes": _node,
    "pods": _pod,
    "persistentvolumeclaims": _claim,
    "services": _service,
}
