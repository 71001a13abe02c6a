"""Validation that explains itself: every fault of a value, in kube-apiserver's words.

This walk is slow and only runs once jsonschema-rs has said that something is wrong. It reports what kube-openapi's
validator would: the same faults at the same places, and of the branches of anyOf and oneOf those of the one that came
closest, by the same count of checks passed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ingot.api.status import MOST_CAUSES, Cause
from ingot.standalone import fields
from ingot.standalone.goprint import is_number, quote
from ingot.standalone.schema import values
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.pairs import Pair
from ingot.standalone.schema.values import Fault


@dataclass(slots=True)
class Result:
    """Faults, each once, and how many checks passed on the way."""

    faults: dict[str, Fault] = field(default_factory=dict)
    passed: int = 0

    def add(self, found: Iterable[Fault]) -> None:
        for fault in found:
            self.faults.setdefault(fault.text, fault)

    def merge(self, other: "Result") -> None:
        self.add(other.faults.values())
        self.passed += other.passed

    @property
    def valid(self) -> bool:
        return not self.faults


def causes(value: Any, node: Node, pair: Pair | None = None, base: str = "") -> list[Cause]:
    """What is wrong with a value; `base` is the path that it has in its object.

    With a pair, what was wrong before and did not change is let pass.
    """
    result = _ratcheted(value, node, "", pair)
    return [_cause(fault, base) for fault in result.faults.values()]


def _cause(fault: Fault, base: str) -> Cause:
    if fault.make is None:
        return fields.invalid(base, "", fault.text)
    name = fault.name.removeprefix(".")
    return fault.make(fields.child(base, name) if name else base)


def _ratcheted(value: Any, node: Node, path: str, pair: Pair | None) -> Result:
    result = _check(value, node, path, pair)
    if result.faults and pair is not None and pair.unchanged():
        result.faults.clear()
    return result


def _check(value: Any, node: Node, path: str, pair: Pair | None) -> Result:
    result = Result()
    if node.types or values.known_format(node):
        found = values.type_faults(value, node, path)
        result.add(found)
        result.passed += 0 if found else 1
        result.passed += value is not None
    elif value is None:
        result.passed += 1
    if value is None:
        result.add(values.enum_faults(value, node, path))
        return result
    result.merge(_branches(value, node, path, pair))
    if isinstance(value, str):
        result.add(values.string_faults(value, node, path))
        result.passed += 1
        if values.known_format(node):
            result.add(values.format_faults(value, node, path))
            result.passed += 1
    elif is_number(value):
        result.add(values.number_faults(value, node, path))
        result.passed += 2
    elif isinstance(value, list):
        result.merge(_list(value, node, path, pair))
    result.add(values.enum_faults(value, node, path))
    if isinstance(value, dict):
        result.merge(_object(value, node, path, pair))
    result.passed += 3 + isinstance(value, dict)
    return result


def _list(value: list[Any], node: Node, path: str, pair: Pair | None) -> Result:
    result = Result()
    if node.items is not None:
        for position, item in enumerate(value):
            below = pair.index(position) if pair else None
            result.merge(_ratcheted(item, node.items, f"{path}[{position}]", below))
            if len(result.faults) > MOST_CAUSES:
                break
    result.add(values.list_faults(value, node, path))
    result.passed += 2
    return result


def _object(value: dict[str, Any], node: Node, path: str, pair: Pair | None) -> Result:
    result = Result()
    result.add(values.size_faults(value, node, path))
    for name, below in value.items():
        if name in node.properties:
            continue
        if node.closed:
            result.add([values.closed_fault(name, path)])
        elif node.values is not None:
            result.merge(_ratcheted(below, node.values, f"{path}.{name}", pair.key(name) if pair else None))
        if len(result.faults) > MOST_CAUSES:
            break
    for name, schema in node.properties.items():
        if name in value:
            # What an object is cannot have been wrong before: both sides are read as the same version.
            below_pair = pair.key(name) if pair and (path or name not in ("apiVersion", "kind")) else None
            result.merge(_ratcheted(value[name], schema, fields.child(path, name), below_pair))
    result.add(values.required_faults(value, node, path))
    return result


def _branches(value: Any, node: Node, path: str, pair: Pair | None) -> Result:
    result = Result()
    if node.any_of:
        result.merge(_any_of(value, node, path, pair))
    if node.one_of:
        result.merge(_one_of(value, node, path, pair))
    if node.all_of:
        result.merge(_all_of(value, node, path, pair))
    if node.not_ is not None and _check(value, node.not_, path, pair).valid:
        result.add([Fault.plain(f"{quote(path)} must not validate the schema (not)")])
    result.passed += 1
    return result


def _closest(results: list[Result]) -> Result:
    """The first of those that passed the most checks."""
    return max(results, key=lambda result: result.passed)


def _any_of(value: Any, node: Node, path: str, pair: Pair | None) -> Result:
    tried = []
    for branch in node.any_of:
        outcome = _check(value, branch, path, pair)
        if outcome.valid:
            return outcome
        tried.append(outcome)
    result = Result()
    result.add([Fault.plain(f"{quote(path)} must validate at least one schema (anyOf)")])
    result.merge(_closest(tried))
    return result


def _one_of(value: Any, node: Node, path: str, pair: Pair | None) -> Result:
    tried = [_check(value, branch, path, pair) for branch in node.one_of]
    valid = [outcome for outcome in tried if outcome.valid]
    if len(valid) == 1:
        return valid[0]
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result = Result()
    result.add([Fault.plain(f"{quote(path)} must validate one and only one schema (oneOf). {found}")])
    if not valid:
        result.merge(_closest(tried))
    return result


def _all_of(value: Any, node: Node, path: str, pair: Pair | None) -> Result:
    result = Result()
    valid = 0
    for branch in node.all_of:
        outcome = _check(value, branch, path, pair)
        valid += outcome.valid
        result.merge(outcome)
    if valid != len(node.all_of):
        none = "" if valid else ". None validated"
        result.add([Fault.plain(f"{quote(path)} must validate all the schemas (allOf){none}")])
    return result
