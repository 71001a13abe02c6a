"""Replica sets that could not know their own instances."""

from collections.abc import Iterator

from ingot.api import selector
from ingot.api.kubevirt.causes import invalid, required
from ingot.api.object import Object
from ingot.api.status import Cause

_VALUED = ("In", "NotIn")
_VALUELESS = ("Exists", "DoesNotExist")


def selector_faults(spec: Object) -> Iterator[Cause]:
    """What is wrong with the selector of a replica set, by itself and with the labels of its template."""
    wanted = spec["selector"]
    if not wanted.get("matchLabels") and not wanted.get("matchExpressions"):
        yield required("spec.selector", "it would select every instance")
    found = [
        fault
        for index, each in enumerate(wanted.get("matchExpressions") or ())
        for fault in _requirement(each, f"spec.selector.matchExpressions[{index}]")
    ]
    yield from found
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    if not found and not selector.matches(wanted, labels):
        why = f"`selector` does not match template `labels`: {selector.text(wanted)} has to hold for them"
        yield invalid("spec.template.metadata.labels", labels, why)


def _requirement(requirement: Object, path: str) -> Iterator[Cause]:
    operator, values = requirement["operator"], requirement.get("values")
    if operator in _VALUED and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _VALUELESS and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield Cause(f"{path}.values", f"Forbidden: {why}", "FieldValueForbidden")
    elif operator not in _VALUED + _VALUELESS:
        yield invalid(
            f"{path}.operator", operator, "not a valid selector operator; use In, NotIn, Exists, DoesNotExist"
        )
