"""ClusterRoles that gather the rules of others by their labels."""

from collections.abc import Mapping

from ingot.api.object import Object, name_of


def is_aggregated(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def rules_of(role: Object, roles: Mapping[str, Object]) -> list[Object]:
    """The rules that `role` has: its own, or those it gathers from `roles`, all ClusterRoles by name.

    A gathered role may gather in its turn; circles end where they began. Order: selector, then name.
    """
    return _rules_of(role, roles, frozenset())


def _rules_of(role: Object, roles: Mapping[str, Object], seen: frozenset[str]) -> list[Object]:
    if not is_aggregated(role):
        return role.get("rules") or []
    seen = seen | {name_of(role)}
    rules: list[Object] = []
    for selector in role["aggregationRule"]["clusterRoleSelectors"]:
        for name in sorted(roles):
            if name in seen or not selects(selector, _labels(roles[name])):
                continue
            rules += [rule for rule in _rules_of(roles[name], roles, seen) if rule not in rules]
    return rules


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector selects `labels`; an empty one selects everything."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_fulfils(requirement, labels) for requirement in selector.get("matchExpressions") or [])


def _fulfils(requirement: Object, labels: Mapping[str, str]) -> bool:
    key = requirement.get("key", "")
    values = requirement.get("values") or []
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def _labels(obj: Object) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("labels") or {}
