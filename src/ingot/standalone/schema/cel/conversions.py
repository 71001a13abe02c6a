"""Functions that turn a value of one type into one of another."""

import math
import re
from collections.abc import Callable
from typing import Any

from ingot.standalone.goprint import number
from ingot.standalone.schema.cel import times
from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.operators import bounded
from ingot.standalone.schema.cel.times import SECOND, Duration, Timestamp
from ingot.standalone.schema.cel.types import PLAIN, Type
from ingot.standalone.schema.cel.values import UInt, kind_of
from ingot.standalone.schema.formats import go_duration

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
# Python reads no more than some thousand digits.
_LONGEST_INT = 1000
_TRUE, _FALSE = ("1", "t", "true", "TRUE", "True"), ("0", "f", "false", "FALSE", "False")


def _refused(value: Any, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{kind_of(value)}' to '{wanted}'")


def to_int(value: Any) -> int:
    match value:
        case bool():
            raise no_overload()
        case int():
            return bounded(int(value))
        case float():
            # Go's limits here are those of a float, and exclusive.
            if not -(2**63) < value < 2**63:
                raise CelError("integer overflow")
            return math.trunc(value)
        case str():
            if len(value) > _LONGEST_INT or not _INTEGER.fullmatch(value):
                raise _refused(value, "int")
            return bounded(int(value))
        case Timestamp():
            return value.nanoseconds // SECOND
        case Duration():
            return value.nanoseconds
    raise no_overload()


def to_uint(value: Any) -> int:
    match value:
        case bool():
            raise no_overload()
        case int():
            return bounded(value, UInt())
        case float():
            if not 0 <= value < 2**64:
                raise CelError("unsigned integer overflow")
            return UInt(math.trunc(value))
        case str():
            if len(value) > _LONGEST_INT or not re.fullmatch(r"\d+", value, re.ASCII):
                raise _refused(value, "uint")
            return bounded(int(value), UInt())
    raise no_overload()


def to_double(value: Any) -> float:
    match value:
        case bool():
            raise no_overload()
        case int() | float():
            return float(value)
        case str():
            try:
                return float(value)
            except ValueError:
                raise _refused(value, "double") from None
    raise no_overload()


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise no_overload()
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise _refused(value, "bool")


def to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_overload()


def to_string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(int(value))
        case float():
            return number(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Timestamp() | Duration():
            return str(value)
    if kind_of(value) in ("net.IP", "net.CIDR"):
        return str(value)
    raise no_overload()


def to_timestamp(value: Any) -> Timestamp:
    match value:
        case Timestamp():
            return value
        case str():
            moment = times.parse(value, strict=True)
            if moment is None:
                raise _refused(value, "google.protobuf.Timestamp")
            return moment
        case int() if not isinstance(value, bool):
            return times.moment(value * SECOND)
    raise no_overload()


def to_duration(value: Any) -> Duration:
    match value:
        case Duration():
            return value
        case str():
            nanoseconds = go_duration(value)
            if nanoseconds is None:
                raise _refused(value, "google.protobuf.Duration")
            return times.span(nanoseconds)
        case int() if not isinstance(value, bool):
            return Duration(value)
    raise no_overload()


def type_of(value: Any) -> Type:
    """The type of a value, as a value: to compare with `string` and the like."""
    if isinstance(value, Type):
        return Type("type")
    name = kind_of(value)
    return PLAIN.get(name) or Type(name)


# The names of types, as values.
TYPE_VALUES: dict[str, Type] = {
    name: PLAIN[name] for name in ("bool", "int", "uint", "double", "string", "bytes", "null_type")
} | {
    "list": Type("list"),
    "map": Type("map"),
    "type": Type("type"),
    "google.protobuf.Timestamp": PLAIN["timestamp"],
    "google.protobuf.Duration": PLAIN["duration"],
    "net.IP": PLAIN["ip"],
    "net.CIDR": PLAIN["cidr"],
}

CONVERSIONS: dict[str, Callable[..., Any]] = {
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "bool": to_bool,
    "bytes": to_bytes,
    "string": to_string,
    "timestamp": to_timestamp,
    "duration": to_duration,
    "dyn": lambda value: value,
    "type": type_of,
}
