"""Selectors in access reviews: RBAC does not look at them, but they must be well-formed."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields

_FIELD = "fieldSelector"
_LABEL = "labelSelector"


def check_selectors(spec: Object) -> list[Cause]:
    """What is wrong with the selectors of a review's resourceAttributes."""
    attributes = spec.get("resourceAttributes") or {}
    causes = []
    for kind in (_FIELD, _LABEL):
        if attributes.get(kind) is not None:
            causes += _check(attributes[kind], f"spec.resourceAttributes.{kind}")
    return causes


def evaluation_error(spec: Object) -> str:
    """What the server could not use of well-formed selectors, or ""."""
    attributes = spec.get("resourceAttributes") or {}
    errors = []
    for kind in (_FIELD, _LABEL):
        requirements = (attributes.get(kind) or {}).get("requirements") or []
        usable = [requirement for requirement in requirements if _usable(kind, requirement)]
        if len(usable) < len(requirements):
            how = "partially ignored" if usable else "ignored"
            errors.append(f"spec.resourceAttributes.{kind} {how} due to parse error")
    return "; ".join(errors)


def _check(selector: Object, path: str) -> list[Cause]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    causes = []
    if raw and requirements:
        why = "may not specified at the same time as requirements"
        causes.append(fields.invalid(f"{path}.rawSelector", raw, why))
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        causes.append(fields.required(f"{path}.requirements", why))
    for index, requirement in enumerate(requirements or ()):
        causes += _check_requirement(requirement, f"{path}.requirements[{index}]")
    return causes


def _check_requirement(requirement: Object, path: str) -> list[Cause]:
    causes = []
    if not requirement.get("key"):
        causes.append(fields.required(f"{path}.key", "must be specified"))
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        causes.append(fields.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        causes.append(fields.forbidden(f"{path}.values", why))
    return causes


def _usable(kind: str, requirement: Object) -> bool:
    operator = requirement.get("operator")
    if kind == _FIELD:
        return operator in ("In", "NotIn") and len(requirement.get("values") or ()) == 1
    return operator in ("In", "NotIn", "Exists", "DoesNotExist")
