"""Reading the JSON of Kubernetes' own kinds: a value of the wrong type is told as Go's decoder tells it."""

import re
import string
from typing import Any

from ingot.api import quantity
from ingot.api.object import Object
from ingot.standalone import times
from ingot.standalone.builtin import gonames, schemas
from ingot.standalone.goprint import INT64, json_type
from ingot.standalone.resources.definition import Definition

_INT32 = range(-(2**31), 2**31)
_base64 = re.compile("[A-Za-z0-9+/]*={0,2}").fullmatch
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/")


def decode_error(definition: Definition, obj: Object, version: str = "") -> str | None:
    """What is wrong with the JSON types in `obj`, in the words of Go's decoder; None when nothing is.

    Unknown fields are no fault here, and null is a value of every type.
    """
    return read_error(definition.versions[version or definition.storage_version].schema, obj)


def read_error(schema: Object, obj: Object) -> str | None:
    """The same for an object of a resolved schema."""
    reader = _Reader()
    try:
        reader.struct(schema, obj, ())
    except _Unreadable as stop:
        return str(stop)
    return reader.mismatch


class _Unreadable(Exception):
    """A scalar that its type's own parser refuses: Go stops there, where a mere mismatch lets it read on."""


class _Reader:
    """Walks an object beside its schema; `mismatch` is the first value of a wrong type."""

    def __init__(self) -> None:
        self.mismatch: str | None = None

    def struct(self, schema: Object, obj: Object, path: tuple[str, ...]) -> None:
        properties = schema["properties"]
        for key, value in obj.items():
            child = properties.get(key)
            if child is None or value is None:
                continue
            if type(value) is str and child.get("type") == "string" and "format" not in child:
                continue
            self.value(child, value, (schema, *path, key), 0)

    def value(self, schema: Object, value: Any, where: tuple[Any, ...], nested: int) -> None:
        """`where` is the structure that has the field, then the field's path; `nested` counts lists and maps."""
        kind = schema.get("type")
        if kind == "object":
            self._object(schema, value, where, nested)
        elif kind == "array":
            if not isinstance(value, list):
                self._differs(value, where, nested)
                return
            for item in value:
                if item is not None:
                    self.value(schema["items"], item, where, nested + 1)
        elif kind is not None:
            self._scalar(schema, kind, value, where, nested)
        elif schemas.name_of(schema) == schemas.QUANTITY:
            self._quantity(value)
        elif schemas.name_of(schema) == schemas.INT_OR_STRING and not isinstance(value, str):
            self._int_or_string(value, where)

    def _object(self, schema: Object, value: Any, where: tuple[Any, ...], nested: int) -> None:
        if not isinstance(value, dict):
            self._differs(value, where, nested)
        elif "properties" in schema:
            self.struct(schema, value, where[1:])
        elif isinstance(schema.get("additionalProperties"), dict):
            items = schema["additionalProperties"]
            for item in value.values():
                if item is not None:
                    self.value(items, item, where, nested + 1)

    def _scalar(self, schema: Object, kind: str, value: Any, where: tuple[Any, ...], nested: int) -> None:
        if kind == "string":
            if not isinstance(value, str):
                if schemas.name_of(schema) in (schemas.TIME, schemas.MICRO_TIME):
                    raise _Unreadable(_mismatch(json_type(value), where, "string"))
                self._differs(value, where, nested)
            else:
                _read_text(schema, value)
        elif kind == "boolean":
            if not isinstance(value, bool):
                self._differs(value, where, nested)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            self._differs(value, where, nested)
        elif kind == "integer" and not _fits(schema, value):
            self._differs(value, where, nested, f"number {value}")

    def _quantity(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _Unreadable(quantity.WRONG_FORMAT)
        try:
            quantity.Quantity.parse(value)
        except quantity.QuantityError as error:
            raise _Unreadable(str(error)) from None

    def _int_or_string(self, value: Any, where: tuple[Any, ...]) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _Unreadable(_mismatch(json_type(value), where, "int32"))
        if not isinstance(value, int) or value not in _INT32:
            raise _Unreadable(_mismatch(f"number {value}", where, "int32"))

    def _differs(self, value: Any, where: tuple[Any, ...], nested: int, word: str = "") -> None:
        if self.mismatch is None:
            go_type = gonames.type_of(where[0], where[-1], nested)
            self.mismatch = _mismatch(word or json_type(value), where, go_type)


def _mismatch(word: str, where: tuple[Any, ...], go_type: str) -> str:
    struct, *path = where
    field = ".".join([gonames.struct_name(struct), *path])
    return f"json: cannot unmarshal {word} into Go struct field {field} of type {go_type}"


def _fits(schema: Object, value: int | float) -> bool:
    return isinstance(value, int) and value in (_INT32 if schema.get("format") == "int32" else INT64)


def _read_text(schema: Object, value: str) -> None:
    """Strings that stand for something else must say it well. Raises _Unreadable."""
    form = schema.get("format")
    if form == "byte":
        _read_base64(value)
    elif form == "date-time":
        try:
            times.canonical(value, micro=schemas.name_of(schema) == schemas.MICRO_TIME)
        except times.TimeError as error:
            raise _Unreadable(str(error)) from None


def _read_base64(value: str) -> None:
    if len(value) % 4 == 0 and _base64(value):
        return
    # Slower, but this one knows where the fault is, and skips line ends as Go does.
    at = _base64_fault(value)
    if at is not None:
        raise _Unreadable(f"illegal base64 data at input byte {at}")


def _base64_fault(value: str) -> int | None:
    """Where Go's decoder stops in `value`, or None when it reads it all."""
    taken = 0
    read = [(at, char) for at, char in enumerate(value) if char not in "\r\n"]
    for index, (at, char) in enumerate(read):
        if char in _BASE64:
            taken += 1
            continue
        if char != "=" or taken % 4 < 2:
            return at
        missing = 4 - taken % 4
        padding = read[index : index + missing]
        if any(char != "=" for _, char in padding):
            return padding[-1][0] - 1
        if len(padding) < missing:
            return len(value)
        after = read[index + missing :]
        return after[0][0] if after else None
    return len(value) - taken % 4 if taken % 4 else None
