"""Views of the object that a rule is about: nothing is copied, and each value gets its schema's type when looked at."""

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any

from ingot.standalone.goprint import go_type, is_int64, is_number
from ingot.standalone.schema import formats
from ingot.standalone.schema.cel import times
from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.names import escape, unescape
from ingot.standalone.schema.cel.times import Duration
from ingot.standalone.schema.cel.types import seen_properties
from ingot.standalone.schema.cel.values import MISSING, Opaque, register_kind
from ingot.standalone.schema.node import Node


class ListView:
    """A list of the object."""

    __slots__ = ("items", "node")

    def __init__(self, items: list[Any], node: Node) -> None:
        self.items = items
        self.node = node

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        schema = items_of(self.node)
        return (view(item, schema) for item in self.items)

    def __getitem__(self, position: int) -> Any:
        return view(self.items[position], items_of(self.node))


class MapView:
    """An object of the object: one with named properties, whose nulls count as absent, or a map."""

    __slots__ = ("node", "properties", "value")

    def __init__(self, value: dict[str, Any], node: Node, properties: dict[str, Node] | None = None) -> None:
        self.value = value
        self.node = node
        self.properties = seen_properties(node) if properties is None else properties

    def __len__(self) -> int:
        return len(self.value)

    def find(self, key: Any) -> Any:
        """The value at a key as rules write it, or MISSING."""
        if not isinstance(key, str):
            raise no_overload()
        name = unescape(key) if self.properties else key
        if name is None or name not in self.value:
            return MISSING
        below = self.value[name]
        if self.properties and below is None:
            return MISSING
        schema = self.properties.get(name) or self.node.values
        return MISSING if schema is None else view(below, schema)

    def has(self, key: str) -> bool:
        """Whether there is a value at a key, without a look at it."""
        if not self.properties:
            return key in self.value and self.node.values is not None
        name = unescape(key)
        return name in self.properties and self.value.get(name) is not None

    def keys(self) -> list[str]:
        if not self.properties:
            return list(self.value) if self.node.values is not None else []
        return [escape(name) or name for name in self.value if name in self.properties]


def items_of(node: Node) -> Node:
    if node.items is None:
        raise CelError("invalid array type, expected Items with a non-empty Schema")
    return node.items


def view(value: Any, node: Node) -> Any:
    """A value of the object as its schema types it. Raises CelError for one that the schema does not allow."""
    if value is None:
        if node.nullable:
            return None
        raise CelError("invalid data, got null for schema with nullable=false")
    if node.int_or_string:
        if isinstance(value, str) or is_int64(value):
            return value
        raise CelError("invalid data, expected XIntOrString value to be either a string or integer")
    match node.type:
        case "object" if isinstance(value, dict):
            return MapView(value, node)
        case "array" if isinstance(value, list):
            return ListView(value, node)
        case "string" if isinstance(value, str):
            return _text(value, node.format) if node.format else value
        case "integer" if is_int64(value):
            return value
        case "number" if is_number(value):
            return float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "":
            return Opaque(value)
    raise CelError(_wrong(node.type, value))


def _wrong(kind: str, value: Any) -> str:
    if kind in ("object", "array"):
        what = "a map" if kind == "object" else "an array"
        return f"invalid data, expected {what} for the provided schema with type={kind}"
    wanted = {"number": "float", "integer": "int", "boolean": "bool"}.get(kind, kind)
    return f"invalid data, expected {wanted}, got {go_type(value)}"


def _text(value: str, form: str) -> Any:
    if form == "duration":
        nanoseconds = formats.parse_duration(value)
        if nanoseconds is None:
            raise CelError(f"Invalid duration {value}: unable to parse {value} as duration")
        return Duration(nanoseconds)
    if form in ("date", "date-time"):
        moment = times.parse(value, date_only=form == "date")
        if moment is None:
            raise CelError(f"Invalid {form} formatted string {value}")
        return moment
    if form == "byte":
        try:
            return base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            raise CelError(f"Invalid byte formatted string {value}") from None
    return value


SIZED = (str, bytes, list, dict, ListView, MapView)


def items_in(value: Any) -> Iterable[Any]:
    """What a list or a map holds, as it lies there."""
    if isinstance(value, ListView):
        return value.items
    held = value.value if isinstance(value, MapView) else value
    return held.values() if isinstance(held, dict) else held


register_kind(ListView, "list")
register_kind(MapView, "map")


def find(mapping: Any, key: Any) -> Any:
    """The value at a key of a map, or MISSING."""
    if isinstance(mapping, MapView):
        return mapping.find(key)
    # To Python true is 1; the keys of one map are all of one type.
    if isinstance(key, bool) != isinstance(next(iter(mapping), None), bool):
        return MISSING
    return mapping.get(key, MISSING)


def keys(mapping: Any) -> list[Any]:
    return mapping.keys() if isinstance(mapping, MapView) else list(mapping)
