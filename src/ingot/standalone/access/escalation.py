"""Nobody grants what they do not hold: the check on every write of a role or binding."""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import ApiError, forbidden
from ingot.standalone.access.aggregation import is_aggregated
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.bindings import GROUP, MissingRole
from ingot.standalone.access.rbac import Authorizer, missing_roles
from ingot.standalone.access.rules import Rule, compact, uncovered
from ingot.standalone.access.user import MASTERS, User
from ingot.standalone.goprint import quote, quote_all

_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_EVERYTHING = (Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",)))
# What the garbage collector and owners of the object's life write; it grants nothing.
_LIFE_CYCLE = ("ownerReferences", "finalizers", "selfLink", "managedFields")


def check(authorizer: Authorizer, user: User, request: Attributes, new: Object, old: Object | None) -> None:
    """Raises the 403 for a role or binding that grants more than `user` holds; passes every other kind.

    `request` is the request's own: its name is "" for a POST. `old` is None on create.
    """
    if request.group != GROUP or request.subresource or MASTERS in user.groups:
        return
    if old is not None and _only_life_cycle(new, old):
        return
    if request.resource in _ROLES:
        _check_role(authorizer, user, request, new, old)
    elif request.resource in _BINDINGS:
        _check_binding(authorizer, user, request, new)


def _check_role(authorizer: Authorizer, user: User, request: Attributes, new: Object, old: Object | None) -> None:
    escalate = Attributes("escalate", GROUP, "*", request.resource, namespace=request.namespace, name=request.name)
    if authorizer.allowed(user, escalate).allowed:
        return
    rules = [Rule.of(rule) for rule in new.get("rules") or ()]
    _confirm(authorizer, user, request, new, rules)
    if is_aggregated(new) or (old is not None and is_aggregated(old)):
        held, _ = authorizer.rules(user, request.namespace)
        if uncovered(held, _EVERYTHING):
            raise _refusal(request, new, "must have cluster-admin privileges to use the aggregationRule")


def _check_binding(authorizer: Authorizer, user: User, request: Attributes, new: Object) -> None:
    reference = new.get("roleRef") or {}
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(str(reference.get("kind", "")))
    if plural is not None:
        group, name = str(reference.get("apiGroup", "")), str(reference.get("name", ""))
        bind = Attributes("bind", group, "*", plural, namespace=request.namespace, name=name)
        if authorizer.allowed(user, bind).allowed:
            return
    try:
        rules = authorizer.role_rules(reference, request.namespace)
    except MissingRole as error:
        # The collection that kube-apiserver names is the request's, not the role's.
        raise error.error(request.resource) from error
    _confirm(authorizer, user, request, new, list(rules))


def _confirm(authorizer: Authorizer, user: User, request: Attributes, new: Object, rules: list[Rule]) -> None:
    held, missing = authorizer.rules(user, request.namespace)
    excess = uncovered(held, rules)
    if not excess:
        return
    lines = "\n".join(sorted({str(rule) for rule in compact(excess)}))
    who = f"user {quote(user.name)} (groups={quote_all(user.groups)})"
    why = f"{who} is attempting to grant RBAC permissions not currently held:\n{lines}"
    if missing:
        why = f"{why}; resolution errors: [{missing_roles(missing, request.resource)}]"
    raise _refusal(request, new, why)


def _refusal(request: Attributes, new: Object, why: str) -> ApiError:
    return forbidden(GROUP, request.resource, name_of(new), why)


def _only_life_cycle(new: Object, old: Object) -> bool:
    return _granting(new) == _granting(old)


def _granting(obj: Object) -> Object:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _LIFE_CYCLE}
    metadata.setdefault("namespace", namespace_of(obj))
    return {**obj, "metadata": metadata}
