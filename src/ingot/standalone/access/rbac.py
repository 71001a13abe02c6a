"""RBAC: who may do what, from the roles and bindings in the store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ingot.api.object import Object
from ingot.standalone.access.attributes import Attributes, Decision, denial
from ingot.standalone.access.bindings import Bound, ListObjects, MissingRole, Policy
from ingot.standalone.access.rules import Rule
from ingot.standalone.access.user import MASTERS, User

# Names in requests are the client's choice, so no cache may grow with them for ever.
_SCOPES = 1024
_QUESTIONS = 1024
_ALLOWED = Decision(True)
_DENIED = Decision(False)


@dataclass(slots=True)
class _Scope:
    """What one user holds in one namespace, and the answers already found."""

    granted: list[tuple[Bound, Rule]]
    missing: list[MissingRole]
    # (verb, group, resource, subresource) → the rules that allow it, with the names they allow it on.
    answers: dict[tuple[str, str, str, str], list[tuple[tuple[str, ...], Decision]]] = field(default_factory=dict)

    def denied(self) -> Decision:
        return Decision(False, f"RBAC: {missing_roles(self.missing)}") if self.missing else _DENIED


class Authorizer:
    """Answers from a policy that is read again only when it has changed.

    `objects(key)` lists all objects of an RBAC kind by its storage name (`clusterroles.rbac.authorization.k8s.io`);
    `version()` is a number that differs after any of them changed, and is asked on every call: make it cheap.
    Members of system:masters may do everything, whatever the policy.
    """

    def __init__(self, objects: ListObjects, version: Callable[[], int]) -> None:
        self._objects = objects
        self._version = version
        self._seen: int | None = None
        self._policy = Policy(lambda _: ())
        self._scopes: dict[tuple[str, tuple[str, ...], str], _Scope] = {}

    def allowed(self, user: User, attributes: Attributes) -> Decision:
        if MASTERS in user.groups:
            return _ALLOWED
        scope = self._scope(user, attributes.namespace if attributes.path is None else "")
        if attributes.path is not None:
            return _path_decision(scope, attributes.verb, attributes.path)
        question = (attributes.verb, attributes.group, attributes.resource, attributes.subresource)
        answers = scope.answers.get(question)
        if answers is None:
            if len(scope.answers) >= _QUESTIONS:
                scope.answers.clear()
            answers = scope.answers[question] = _answers(scope, *question)
        for names, decision in answers:
            if not names or attributes.name in names:
                return decision
        return scope.denied()

    def check(self, user: User, attributes: Attributes) -> None:
        """Raises the 403 that kube-apiserver would answer with, if the user may not."""
        decision = self.allowed(user, attributes)
        if not decision.allowed:
            raise denial(user, attributes, decision.reason)

    def rules(self, user: User, namespace: str) -> tuple[list[Rule], list[MissingRole]]:
        """All rules that `user` holds in `namespace`, and the roles that bindings name in vain."""
        scope = self._scope(user, namespace)
        return [rule for _, rule in scope.granted], scope.missing

    def role_rules(self, reference: Object, namespace: str) -> tuple[Rule, ...]:
        """The rules of a roleRef; MissingRole when there is no such role."""
        self._refresh()
        return self._policy.rules(reference, namespace)

    def _scope(self, user: User, namespace: str) -> _Scope:
        self._refresh()
        key = (user.name, user.groups, namespace)
        scope = self._scopes.get(key)
        if scope is None:
            if len(self._scopes) >= _SCOPES:
                self._scopes.clear()
            scope = self._scopes[key] = self._gather(user, namespace)
        return scope

    def _gather(self, user: User, namespace: str) -> _Scope:
        scope = _Scope([], [])
        for bound in self._policy.bound(user, namespace):
            try:
                scope.granted += [(bound, rule) for rule in self._policy.rules(bound.reference, bound.namespace)]
            except MissingRole as error:
                scope.missing.append(error)
        return scope

    def _refresh(self) -> None:
        version = self._version()
        if version != self._seen:
            self._policy = Policy(self._objects)
            self._scopes = {}
            self._seen = version


def _answers(
    scope: _Scope, verb: str, group: str, resource: str, subresource: str
) -> list[tuple[tuple[str, ...], Decision]]:
    return [
        (rule.names, _because(bound))
        for bound, rule in scope.granted
        if rule.allows_resource(verb, group, resource, subresource)
    ]


def _path_decision(scope: _Scope, verb: str, path: str) -> Decision:
    for bound, rule in scope.granted:
        if rule.allows_path(verb, path):
            return _because(bound)
    return scope.denied()


def _because(bound: Bound) -> Decision:
    return Decision(True, f"RBAC: allowed by {bound.source}")


def missing_roles(missing: Sequence[MissingRole], searched: str = "") -> str:
    """Missing roles as Kubernetes prints them: by their kind, or as if `searched` had been where it looked."""
    messages = [error.error(searched or error.kind.lower()).message for error in missing]
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
