"""Whether a value has its type, with the faults that Kubernetes names when an applied configuration has not."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ingot.api.object import Object
from ingot.standalone.goprint import go_type, plain, syntax
from ingot.standalone.patch import pathelement
from ingot.standalone.patch.types import ListType, MapType, Type, TypedError

# Pairs of a path, from the value that was checked, and what is wrong there.
_Faults: TypeAlias = Sequence[tuple[str, str]]


def validate(of: Type, obj: Object, duplicates: bool = False) -> None:
    """Raises TypedError for unknown fields, wrong types, list items without key and, unless allowed, `duplicates`."""
    faults = _check(of, obj, duplicates)
    if faults:
        raise TypedError(list(faults))


def _check(of: Type, value: Any, duplicates: bool) -> _Faults:
    if value is None:
        return ()
    if type(value) is dict and of.map is not None:
        return _check_map(of.map, value, duplicates)
    if type(value) is list and of.list is not None:
        return _check_list(of.list, value, duplicates)
    if type(value) in (dict, list) or not of.scalar:
        return [("", _mismatch(of, value))]
    message = _scalar_fault(of.scalar, value)
    return [("", message)] if message else ()


def _below(step: str, faults: _Faults) -> _Faults:
    shown = pathelement.text(step)
    return [(shown + path, message) for path, message in faults]


def _mismatch(of: Type, value: Any) -> str:
    if of.map is not None:
        return f"expected map, got &{{{plain(value)}}}"
    if of.scalar:
        return _scalar_fault(of.scalar, value) or f"expected any scalar, got &{{{plain(value)}}}"
    return f"expected list, got &{{{plain(value)}}}"


def _scalar_fault(scalar: str, value: Any) -> str:
    if scalar == "numeric" and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {go_type(value)}"
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{syntax(value)}}}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{plain(value)}}}"
    return ""


def _check_map(of: MapType, value: Object, duplicates: bool) -> _Faults:
    faults: list[tuple[str, str]] = []
    for name, item in value.items():
        known = of.fields.get(name)
        inner = known[1] if known is not None else of.element
        if inner is None:
            return [*faults, (f".{name}", "field not declared in schema")]
        if found := _check(inner, item, duplicates):
            faults += _below("f:" + name, found)
    return faults


def _check_list(of: ListType, value: list[Any], duplicates: bool) -> _Faults:
    faults: list[tuple[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        if of.atomic:
            step = f"i:{index}"
        else:
            try:
                step = of.step(item)
            except ValueError as error:
                return [*faults, ("", f"element {index}: {error}")]
            if step in seen and not duplicates:
                faults.append(("", f"duplicate entries for key {pathelement.text(step)}"))
            seen.add(step)
        if found := _check(of.element, item, duplicates):
            faults += _below(step, found)
    return faults
