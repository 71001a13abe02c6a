"""Whether a value has its type, with the faults that Kubernetes names when an applied configuration has not."""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.patch import pathelement
from ingot.standalone.patch.types import ListType, MapType, Type, TypedError
from ingot.standalone.patch.values import go_syntax, go_type, go_value

_Faults = list[tuple[str, str]]


def validate(of: Type, obj: Object, duplicates: bool = False) -> None:
    """Raises TypedError for unknown fields, wrong types, list items without key and, unless allowed, `duplicates`."""
    faults: _Faults = []
    _check(of, obj, "", duplicates, faults)
    if faults:
        raise TypedError(faults)


def _check(of: Type, value: Any, path: str, duplicates: bool, faults: _Faults) -> None:
    if value is None:
        return
    if type(value) is dict and of.map is not None:
        _check_map(of.map, value, path, duplicates, faults)
    elif type(value) is list and of.list is not None:
        _check_list(of.list, value, path, duplicates, faults)
    elif type(value) in (dict, list) or not of.scalar:
        faults.append((path, _mismatch(of, value)))
    elif of.scalar != "untyped" and (message := _scalar_fault(of.scalar, value)):
        faults.append((path, message))


def _mismatch(of: Type, value: Any) -> str:
    if of.map is not None:
        return f"expected map, got &{{{go_value(value)}}}"
    if of.scalar:
        return _scalar_fault(of.scalar, value) or f"expected any scalar, got &{{{go_value(value)}}}"
    return f"expected list, got &{{{go_value(value)}}}"


def _scalar_fault(scalar: str, value: Any) -> str:
    if scalar == "numeric" and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {go_type(value)}"
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{go_value(value)}}}"
    return ""


def _check_map(of: MapType, value: Object, path: str, duplicates: bool, faults: _Faults) -> None:
    for name, item in value.items():
        known = of.fields.get(name)
        inner = known[1] if known is not None else of.element
        if inner is None:
            faults.append((f"{path}.{name}", "field not declared in schema"))
            return
        _check(inner, item, f"{path}.{name}", duplicates, faults)


def _check_list(of: ListType, value: list[Any], path: str, duplicates: bool, faults: _Faults) -> None:
    seen: set[str] = set()
    for index, item in enumerate(value):
        if of.atomic:
            shown = f"[{index}]"
        else:
            try:
                step = of.step(item)
            except ValueError as error:
                faults.append((path, f"element {index}: {error}"))
                return
            shown = pathelement.text(step)
            if step in seen and not duplicates:
                faults.append((path, f"duplicate entries for key {shown}"))
            seen.add(step)
        _check(of.element, item, path + shown, duplicates, faults)
