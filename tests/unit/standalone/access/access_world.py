"""What the tests of access stand on: roles, bindings and objects in plain lists."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ingot.api.object import Object
from ingot.standalone.access.bindings import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLE_BINDINGS,
    ROLES,
)
from ingot.standalone.access.rbac import Authorizer


def rule(verbs: str, groups: str, resources: str, *names: str) -> Object:
    """A rule from lists separated by spaces; `core` is the group without a name."""
    listed = ["" if group == "core" else group for group in groups.split()]
    made: Object = {"verbs": verbs.split(), "apiGroups": listed, "resources": resources.split()}
    return {**made, "resourceNames": list(names)} if names else made


def url(*urls: str, verbs: str = "get") -> Object:
    return {"verbs": verbs.split(), "nonResourceURLs": list(urls)}


def someone(name: str) -> Object:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> Object:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def account(name: str, namespace: str = "") -> Object:
    return {"kind": "ServiceAccount", "name": name, **({"namespace": namespace} if namespace else {})}


@dataclass
class Policy:
    """Roles and bindings as a store would list them."""

    objects: dict[str, list[Object]] = field(default_factory=dict)
    version: int = 0
    reads: int = 0

    def __post_init__(self) -> None:
        self.authorizer = Authorizer(self._list, lambda: self.version)

    def _list(self, key: str) -> list[Object]:
        self.reads += 1
        return self.objects.get(key, [])

    def add(self, key: str, obj: Object) -> None:
        self.objects.setdefault(key, []).append(obj)
        self.version += 1

    def cluster_role(self, name: str, *rules: Object, **more: Object) -> None:
        metadata = {"name": name, "labels": more.pop("labels", {})}
        self.add(CLUSTER_ROLES, {"metadata": metadata, "rules": list(rules), **more})

    def role(self, namespace: str, name: str, *rules: Object) -> None:
        self.add(ROLES, {"metadata": {"name": name, "namespace": namespace}, "rules": list(rules)})

    def bind(self, name: str, role: str, *subjects: Object) -> None:
        self.add(CLUSTER_ROLE_BINDINGS, _binding({"name": name}, "ClusterRole", role, subjects))

    def bind_in(self, namespace: str, name: str, kind: str, role: str, *subjects: Object) -> None:
        self.add(ROLE_BINDINGS, _binding({"name": name, "namespace": namespace}, kind, role, subjects))


def _binding(metadata: Object, kind: str, role: str, subjects: tuple[Object, ...]) -> Object:
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    return {"metadata": metadata, "roleRef": reference, "subjects": list(subjects)}


@dataclass
class Objects:
    """Objects by (kind, namespace, name), for lookups."""

    found: dict[tuple[str, str, str], Object] = field(default_factory=dict)

    def add(self, key: str, namespace: str, name: str, **more: Object) -> Object:
        metadata = {"name": name, "uid": f"uid-{name}", **({"namespace": namespace} if namespace else {})}
        self.found[key, namespace, name] = {"metadata": metadata, **more}
        return self.found[key, namespace, name]

    @property
    def get(self) -> Callable[[str, str, str], Object | None]:
        return lambda key, namespace, name: self.found.get((key, namespace, name))
