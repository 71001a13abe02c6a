"""Amounts of resources: limits and requests of containers, storage of claims and volumes."""

from ingot.api.object import Object
from ingot.api.quantity import Quantity
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.goprint import Shown

_CONTAINER = ("cpu", "memory", "ephemeral-storage")
_STANDARD = frozenset(
    [
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "storage",
        "requests.storage",
        "services.nodeports",
        "services.loadbalancers",
    ]
)


def requirements(field: str, given: Object) -> list[Cause]:
    """What is wrong with a container's `resources`, in their canonical form."""
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    causes = [cause for name, value in limits.items() for cause in _amount(f"{field}.limits", name, value)]
    for name, value in requests.items():
        causes += _amount(f"{field}.requests", name, value)
        causes += _against_limit(field, name, value, limits.get(name))
    huge = any(name.startswith("hugepages-") for name in (*limits, *requests))
    if huge and not any(name in ("cpu", "memory") for name in (*limits, *requests)):
        causes.append(fields.forbidden(field, "HugePages require cpu or memory"))
    return causes


def _amount(field: str, name: str, value: str) -> list[Cause]:
    path = f"{field}[{name}]"
    causes = _name(path, name)
    causes += not_negative(path, value)
    if _is_extended(name) and Quantity.parse(value).exact.denominator != 1:
        causes.append(fields.invalid(path, value, "must be an integer"))
    return causes


def _name(path: str, name: str) -> list[Cause]:
    causes = fields.checked(path, name, names.qualified)
    if causes:
        return causes
    if "/" not in name:
        huge = name.startswith("hugepages-")
        if name not in _STANDARD and not huge:
            causes.append(_unquoted(path, name, "must be a standard resource type or fully qualified"))
        if name not in _CONTAINER and not huge:
            causes.append(_unquoted(path, name, "must be a standard resource for containers"))
    elif "kubernetes.io/" not in name and not _is_extended(name):
        causes.append(_unquoted(path, name, "doesn't follow extended resource name standard"))
    return causes


def _unquoted(path: str, name: str, why: str) -> Cause:
    """Kubernetes prints the names of resources without quotes, unlike every other string."""
    return fields.invalid(path, Shown(name), why)


def _is_extended(name: str) -> bool:
    """Whether the name is that of a device plugin's resource, which comes in whole numbers."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not names.qualified(f"requests.{name}")


def _against_limit(field: str, name: str, value: str, limit: str | None) -> list[Cause]:
    fixed = _is_extended(name) or name.startswith("hugepages-")
    if limit is None:
        why = "Limit must be set for non overcommitable resources"
        return [fields.required(f"{field}.limits", why)] if fixed else []
    asked, most = Quantity.parse(value).exact, Quantity.parse(limit).exact
    if fixed and asked != most:
        return [fields.invalid(f"{field}.requests", value, f"must be equal to {name} limit of {limit}")]
    if asked > most:
        why = f"must be less than or equal to {name} limit of {limit}"
        return [fields.invalid(f"{field}.requests", value, why)]
    return []


def not_negative(field: str, value: str) -> list[Cause]:
    if Quantity.parse(value).mantissa < 0:
        return [fields.invalid(field, value, "must be greater than or equal to 0")]
    return []


def positive(field: str, value: str) -> list[Cause]:
    if Quantity.parse(value).mantissa <= 0:
        return [fields.invalid(field, value, "must be greater than zero")]
    return []
