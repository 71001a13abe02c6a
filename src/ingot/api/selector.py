"""Label selectors: which objects they take, and how they are written."""

from collections.abc import Mapping

from ingot.api.object import Object


def matches(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether all requirements of a selector hold for these labels."""
    wanted = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        _holds(each, labels) for each in selector.get("matchExpressions") or ()
    )


def _holds(requirement: Object, labels: Mapping[str, str]) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def text(selector: Object) -> str:
    """The selector as requests carry it: `app=web,tier in (a,b)`."""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(each.get("values") or ())
        written = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(written.get(each["operator"], f"!{key}"))
    return ",".join(parts)
