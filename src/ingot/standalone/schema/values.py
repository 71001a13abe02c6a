"""The checks of a single value against its own schema, without what lies below it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.goprint import is_int64, is_number, number, quote
from ingot.standalone.schema import formats
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.patterns import pattern

_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. Faults with the same text are one fault; `make` gives the Cause for a path.

    A plain fault has no place of its own: kube-apiserver shows it at the object, with the path in the text.
    """

    name: str
    text: str
    make: Callable[[str], Cause] | None

    @classmethod
    def plain(cls, text: str) -> Self:
        return cls("", text, None)

    @classmethod
    def invalid(cls, name: str, value: Any, said: str) -> Self:
        text = f"{name} in body {said}"
        return cls(name, text, lambda path: fields.invalid(path, value, text))

    @classmethod
    def type(cls, name: str, wanted: str, value: str) -> Self:
        text = f"{name} in body must be of type {wanted}: {quote(value)}"
        return cls(name, text, lambda path: fields.type_invalid(path, value, text))


def known_format(node: Node) -> bool:
    return formats.checker(node.format) is not None


def _json_type(value: Any) -> tuple[str, str]:
    """The type of a value, and the format that Go's representation of it has."""
    if value is None:
        return "null", ""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, list):
        return "array", ""
    if isinstance(value, dict):
        return "object", ""
    return ("integer", "int64") if is_int64(value) else ("number", "float64")


def type_faults(value: Any, node: Node, path: str) -> list[Fault]:
    wanted = ",".join(node.types)
    if value is None:
        return [Fault.type(path, wanted, "null")] if node.types and not node.nullable else []
    given, go_format = _json_type(value)
    whole = given == "number" and _nearly_whole(float(value))
    fits = given in node.types or (whole and "integer" in node.types) or (given == "integer" and "number" in node.types)
    if fits:
        return []
    if known_format(node):
        if not isinstance(value, str | list):
            return [Fault.type(path, node.format, go_format)]
        if not {"number", "integer"} & set(node.types):
            return []
    return [Fault.type(path, wanted, given)]


def string_faults(value: str, node: Node, path: str) -> list[Fault]:
    """The first of: too long, too short, not matching."""
    schema = node.source
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        text = f"{path} in body should be at most {longest} chars long"
        return [Fault(path, text, lambda place: fields.too_long(place, longest))]
    if shortest is not None and len(value) < shortest:
        return [Fault.invalid(path, value, f"should be at least {shortest} chars long")]
    expression = schema.get("pattern")
    if expression and not pattern(expression).matches(value):
        return [Fault.invalid(path, value, f"should match '{expression}'")]
    return []


def format_faults(value: str, node: Node, path: str) -> list[Fault]:
    checker = formats.checker(node.format)
    return [Fault.type(path, node.format, value)] if checker and not checker(value) else []


def number_faults(value: float, node: Node, path: str) -> list[Fault]:
    schema = node.source
    whole = is_int64(value)
    # Go compares integers with the integer part of a bound.
    bound: Callable[[float], float] = int if whole else float
    found = []
    if schema.get("multipleOf") is not None:
        found += _multiple_faults(value, bound(schema["multipleOf"]), path)
    if schema.get("minimum") is not None:
        low, exclusive = bound(schema["minimum"]), schema.get("exclusiveMinimum") is True
        if value < low or (exclusive and value == low):
            word = "greater than" if exclusive else "greater than or equal to"
            found.append(Fault.invalid(path, value, f"should be {word} {number(low)}"))
    if schema.get("maximum") is not None:
        high, exclusive = bound(schema["maximum"]), schema.get("exclusiveMaximum") is True
        if value > high or (exclusive and value == high):
            word = "less than" if exclusive else "less than or equal to"
            found.append(Fault.invalid(path, value, f"should be {word} {number(high)}"))
    return found


def _multiple_faults(value: float, factor: float, path: str) -> list[Fault]:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        return [Fault(path, text, lambda place: fields.invalid(place, factor, text))]
    if is_int64(value):
        fits = value % factor == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        fits = _nearly_whole(quotient)
    return [] if fits else [Fault.invalid(path, value, f"should be a multiple of {number(factor)}")]


def _nearly_whole(value: float) -> bool:
    """Whether Go takes a float for an integer: exactly, or but for the last digits that a division leaves."""
    if not abs(value) <= _SAFE_INTEGER:
        return False
    below = float(int(value))
    if value == below:
        return True
    return below > 0 and (value - below) / (value + below) < 1e-9


def list_faults(value: list[Any], node: Node, path: str) -> list[Fault]:
    return _size_faults(len(value), node.source.get("minItems"), node.source.get("maxItems"), "items", path)


def size_faults(value: dict[str, Any], node: Node, path: str) -> list[Fault]:
    fewest, most = node.source.get("minProperties"), node.source.get("maxProperties")
    return _size_faults(len(value), fewest, most, "properties", path)


def _size_faults(size: int, fewest: int | None, most: int | None, what: str, path: str) -> list[Fault]:
    found = []
    if fewest is not None and size < fewest:
        found.append(Fault.invalid(path, size, f"should have at least {fewest} {what}"))
    if most is not None and size > most:
        text = f"{path} in body should have at most {most} {what}"
        found.append(Fault(path, text, lambda place: fields.too_many(place, size, most)))
    return found


def closed_fault(name: str, path: str) -> Fault:
    text = f"{path}.{name} in body is a forbidden property"
    return Fault(path, text, lambda place: fields.invalid(place, name, text))


def required_faults(value: dict[str, Any], node: Node, path: str) -> list[Fault]:
    return [
        Fault(f"{path}.{name}", f"{path}.{name} in body is required", fields.required)
        for name in node.required
        if name not in value
    ]


def enum_faults(value: Any, node: Node, path: str) -> list[Fault]:
    accepted = node.source.get("enum")
    if not accepted or any(_same(value, choice) for choice in accepted):
        return []
    text = f"{path} in body should be one of {accepted}"
    return [Fault(path, text, lambda place: fields.not_supported(place, value, accepted))]


def _same(value: Any, choice: Any) -> bool:
    """Equality of JSON; null is never an accepted choice to Kubernetes."""
    if value is None or choice is None:
        return False
    if is_number(value) and is_number(choice):
        return bool(value == choice)
    return type(value) is type(choice) and bool(value == choice)
