"""ClusterRoles that come with Ingot, and that the cluster's own admin, edit and view gather."""

from collections.abc import Sequence
from typing import Final

from ingot.api.object import Object

RBAC: Final = "rbac.authorization.k8s.io"
READ: Final = ("get", "list", "watch")
EDIT: Final = ("get", "delete", "create", "update", "patch", "list", "watch")
ADMIN: Final = (*EDIT, "deletecollection")


def rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Object:
    """These verbs on these resources."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def cluster_role(owner: str, name: str, rules: list[Object], *, gathered: bool = False) -> Object:
    """The ClusterRole `owner:name`; one that is gathered adds to the cluster's own role of that name."""
    labels = {f"{RBAC}/aggregate-to-{name}": "true"} if gathered else {}
    return {**_head("ClusterRole", owner, name, labels), "rules": rules}


def bound_to(owner: str, name: str, *groups: str) -> Object:
    """The ClusterRoleBinding that gives the ClusterRole `owner:name` to these groups."""
    return {
        **_head("ClusterRoleBinding", owner, name, {}),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"{owner}:{name}"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
    }


def _head(kind: str, owner: str, name: str, labels: dict[str, str]) -> Object:
    metadata = {
        "name": f"{owner}:{name}",
        "labels": {owner: "", **labels},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}
