"""The role bindings of one version of the store, found by whom they bind."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import ApiError, not_found
from ingot.standalone.access.aggregation import rules_of
from ingot.standalone.access.rules import Rule
from ingot.standalone.access.user import User, service_account_name
from ingot.standalone.goprint import quote

GROUP = "rbac.authorization.k8s.io"
ROLES = f"roles.{GROUP}"
ROLE_BINDINGS = f"rolebindings.{GROUP}"
CLUSTER_ROLES = f"clusterroles.{GROUP}"
CLUSTER_ROLE_BINDINGS = f"clusterrolebindings.{GROUP}"

ListObjects = Callable[[str], Iterable[Object]]


class MissingRole(Exception):
    """A binding refers to a role that is not there, or to something that is no role."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {name} not found")
        self.kind = kind
        self.name = name

    def error(self, plural: str) -> ApiError:
        """The error for the wire, which names `plural` as the collection that was searched."""
        if self.kind not in ("Role", "ClusterRole"):
            return ApiError(500, "", f"unsupported role reference kind: {quote(self.kind)}")
        return not_found(GROUP, plural, self.name)


@dataclass(frozen=True, slots=True, order=True)
class Bound:
    """One subject of one binding; sorted as kube-apiserver visits them: by binding, then by place in it."""

    binding: int
    subject: int
    reference: Object = field(compare=False)
    namespace: str = field(compare=False)
    source: str = field(compare=False)


@dataclass(slots=True)
class Bindings:
    """Bindings of one scope, by user and by group."""

    users: dict[str, list[Bound]] = field(default_factory=dict)
    groups: dict[str, list[Bound]] = field(default_factory=dict)

    def of(self, user: User) -> Iterator[Bound]:
        """The bindings that apply to `user`, each once, by the first of its subjects that does."""
        found = list(self.users.get(user.name, ()))
        for group in user.groups:
            found += self.groups.get(group, ())
        last = -1
        for bound in sorted(found):
            if bound.binding != last:
                last = bound.binding
                yield bound


class Policy:
    """All roles and bindings at one moment. Build it again when they change."""

    def __init__(self, objects: ListObjects) -> None:
        self._cluster = Bindings()
        self._namespaces: dict[str, Bindings] = {}
        self._cluster_roles = {name_of(role): role for role in objects(CLUSTER_ROLES)}
        self._roles = {(namespace_of(role), name_of(role)): role for role in objects(ROLES)}
        self._rules: dict[tuple[str, str, str], tuple[Rule, ...]] = {}
        for number, binding in enumerate(sorted(objects(CLUSTER_ROLE_BINDINGS), key=name_of)):
            _add(self._cluster, number, binding)
        for number, binding in enumerate(sorted(objects(ROLE_BINDINGS), key=name_of)):
            _add(self._namespaces.setdefault(namespace_of(binding), Bindings()), number, binding)

    def bound(self, user: User, namespace: str) -> Iterator[Bound]:
        """What applies to `user` in `namespace`: bindings of the cluster, then those of the namespace."""
        yield from self._cluster.of(user)
        if namespace and namespace in self._namespaces:
            yield from self._namespaces[namespace].of(user)

    def rules(self, reference: Object, namespace: str) -> tuple[Rule, ...]:
        """The rules of a roleRef in a binding of `namespace`; MissingRole when there is no such role."""
        kind, name = str(reference.get("kind", "")), str(reference.get("name", ""))
        key = (kind, namespace if kind == "Role" else "", name)
        if key not in self._rules:
            self._rules[key] = tuple(Rule.of(rule) for rule in self._find(kind, namespace, name))
        return self._rules[key]

    def _find(self, kind: str, namespace: str, name: str) -> list[Object]:
        if kind == "ClusterRole" and name in self._cluster_roles:
            return rules_of(self._cluster_roles[name], self._cluster_roles)
        if kind == "Role" and (namespace, name) in self._roles:
            return self._roles[namespace, name].get("rules") or []
        raise MissingRole(kind, name)


def _add(bindings: Bindings, number: int, binding: Object) -> None:
    namespace = namespace_of(binding)
    reference = binding.get("roleRef") or {}
    for index, subject in enumerate(binding.get("subjects") or ()):
        kind, name = subject.get("kind"), str(subject.get("name", ""))
        account_namespace = subject.get("namespace") or namespace
        shown = f"{name}/{account_namespace}" if kind == "ServiceAccount" else name
        source = f"{_described(binding)} to {kind} {quote(shown)}"
        bound = Bound(number, index, reference, namespace, source)
        if kind == "Group":
            bindings.groups.setdefault(name, []).append(bound)
        elif kind == "User":
            bindings.users.setdefault(name, []).append(bound)
        elif kind == "ServiceAccount" and account_namespace:
            username = service_account_name(account_namespace, name)
            bindings.users.setdefault(username, []).append(bound)


def _described(binding: Object) -> str:
    reference = binding.get("roleRef") or {}
    namespace = namespace_of(binding)
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = f"{name_of(binding)}/{namespace}" if namespace else name_of(binding)
    return f"{kind} {quote(name)} of {reference.get('kind')} {quote(str(reference.get('name', '')))}"
