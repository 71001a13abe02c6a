"""The types of single values: what stands on the wire for each, and the JSON that it becomes."""

import base64
import math
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec

from ingot.api.object import Object
from ingot.standalone import times
from ingot.standalone.builtin import schemas
from ingot.standalone.protobuf.wire import BYTES, FIXED64, VARINT, WireError, members, signed

EMPTY = memoryview(b"")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Go's zero time: it is written as null.
_ZERO_SECONDS = -62135596800
# From here on Go writes a whole number with an exponent.
_LARGEST_WHOLE = 1e21


class Type(NamedTuple):
    """How one value is read: its wire type, and what makes JSON of it, given the depth of messages around it.

    `read` raises WireError.
    """

    wire: int
    read: Callable[[Any, int], Any]

    def zero(self, depth: int) -> Any:
        """What a value that is not on the wire stands for."""
        return self.read(EMPTY if self.wire == BYTES else 0, depth)


def text(value: memoryview) -> str:
    """The string in some bytes. Raises WireError when they are no UTF-8."""
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"proto: string contains invalid UTF-8: {error.reason} at byte {error.start}") from error


def of_scalar(schema: Object) -> Type:
    """The type of a schema that is neither a structure nor a list nor a map."""
    name = schemas.name_of(schema)
    if name in SPECIAL:
        return SPECIAL[name]
    kind, form = schema["type"], schema.get("format")
    if kind == "string":
        return _BINARY if form == "byte" else _STRING
    if kind == "integer":
        return _INT32 if form == "int32" else _INT64
    return {"boolean": _BOOL, "number": _DOUBLE}[kind]


def _number(value: memoryview, _depth: int) -> int | float:
    (number,) = struct.unpack("<d", value)
    if not math.isfinite(number):
        raise WireError(f"json: unsupported value: {number}")
    return int(number) if number.is_integer() and abs(number) < _LARGEST_WHOLE else float(number)


def _moment(micro: bool, value: memoryview, _depth: int) -> str | None:
    if not value:
        return None
    found = members(value, "Timestamp", (VARINT, VARINT))
    seconds, nanos = signed(found.get(1, 0), 64), signed(found.get(2, 0), 32)
    if seconds == _ZERO_SECONDS and not (micro and nanos):
        return None
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=int(nanos / 1000) if micro else 0)
    except OverflowError:
        raise WireError(f"a time of {seconds} seconds is outside of the years 1 to 9999") from None
    return times.written(moment, micro)


def _quantity(value: memoryview, _depth: int) -> str:
    found = members(value, "Quantity", (BYTES,))
    return text(found[1]) if 1 in found else "0"


def _int_or_string(value: memoryview, _depth: int) -> int | str:
    found = members(value, "IntOrString", (VARINT, VARINT, BYTES))
    return text(found.get(3, EMPTY)) if found.get(1) else signed(found.get(2, 0), 32)


def _json(value: memoryview, _depth: int) -> Any:
    """A message that holds a JSON text."""
    raw = members(value, "JSON", (BYTES,)).get(1)
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"invalid JSON: {error}") from error


_STRING = Type(BYTES, lambda value, _depth: text(value))
_BINARY = Type(BYTES, lambda value, _depth: base64.b64encode(value).decode())
_INT32 = Type(VARINT, lambda value, _depth: signed(value, 32))
_INT64 = Type(VARINT, lambda value, _depth: signed(value, 64))
_BOOL = Type(VARINT, lambda value, _depth: value != 0)
_DOUBLE = Type(FIXED64, _number)

# Messages that are no structures in JSON.
SPECIAL = {
    schemas.QUANTITY: Type(BYTES, _quantity),
    schemas.INT_OR_STRING: Type(BYTES, _int_or_string),
    schemas.TIME: Type(BYTES, partial(_moment, False)),
    schemas.MICRO_TIME: Type(BYTES, partial(_moment, True)),
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": Type(BYTES, _json),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": Type(BYTES, _json),
}
