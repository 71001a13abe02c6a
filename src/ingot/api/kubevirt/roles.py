"""Who may do what with machines: roles that the cluster's own admin, edit and view gather."""

from collections.abc import Sequence

from ingot.api.kubevirt import rights, subresources
from ingot.api.object import Object

_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_EDIT = ("get", "delete", "create", "update", "patch", "list", "watch")
_ADMIN = (*_EDIT, "deletecollection")


def cluster_roles() -> list[Object]:
    """Those who edit may start machines and sit at their consoles; those who view may only look at the objects.

    Nobody gathers the roles that reach into the node: an administrator binds them to whom they trust with it.
    """
    acts = [_acts("get"), _acts("update")]
    return [
        _role("admin", [*acts, _kinds(_ADMIN)], gathered=True),
        _role("edit", [*acts, _kinds(_EDIT)], gathered=True),
        _role("view", [_kinds(_READ)], gathered=True),
        _role("default", [_rule(subresources.GROUP, ["version"], ("get", "list"))], gathered=False),
        *(
            _role(resource, [_rule(rights.GROUP, [resource], (rights.VERB,))], gathered=False)
            for resource in (rights.HOST_DISKS, rights.HOST_PROCESSES)
        ),
    ]


def cluster_role_bindings() -> list[Object]:
    """Everybody may ask for the version, as clients do before all else."""
    return [
        {
            **_head("ClusterRoleBinding", "default", {}),
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "kubevirt.io:default"},
            "subjects": [
                {"apiGroup": _RBAC, "kind": "Group", "name": f"system:{word}"}
                for word in ("authenticated", "unauthenticated")
            ],
        }
    ]


def _acts(verb: str) -> Object:
    named = [
        f"{plural}/{act}"
        for plural, acts in subresources.ACTS.items()
        for act, its_verb in acts.items()
        if its_verb == verb
    ]
    return _rule(subresources.GROUP, named, (verb,))


def _kinds(verbs: Sequence[str]) -> Object:
    return _rule("kubevirt.io", list(rights.MACHINES), verbs)


def _rule(group: str, resources: list[str], verbs: Sequence[str]) -> Object:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


def _role(name: str, rules: list[Object], *, gathered: bool) -> Object:
    labels = {f"{_RBAC}/aggregate-to-{name}": "true"} if gathered else {}
    return {**_head("ClusterRole", name, labels), "rules": rules}


def _head(kind: str, name: str, labels: dict[str, str]) -> Object:
    metadata = {
        "name": f"kubevirt.io:{name}",
        "labels": {"kubevirt.io": "", **labels},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata}
