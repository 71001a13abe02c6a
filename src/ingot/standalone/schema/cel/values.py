"""Values while an expression runs.

int, float, str, bytes, bool and None are CEL's int, double, string, bytes, bool and null. Lists and maps that an
expression makes are Python's; those of the object are views of it.
"""

from dataclasses import dataclass
from typing import Any

from ingot.standalone.schema.cel.times import Duration, Timestamp

MISSING: Any = object()


class UInt(int):
    """CEL's unsigned integer, told from the signed one by its class."""


@dataclass(frozen=True, slots=True)
class Optional:
    value: Any = MISSING

    @property
    def present(self) -> bool:
        return self.value is not MISSING


NONE = Optional()


class Opaque:
    """A value without a schema: it can be compared with its like, and nothing else."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_KINDS: dict[type, str] = {
    bool: "bool",
    UInt: "uint",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Timestamp: "timestamp",
    Duration: "duration",
    Optional: "optional_type",
    Opaque: "unknown",
}


def kind_of(value: Any) -> str:
    """The name of a value's type, as `type()` and overloads know it."""
    return _KINDS.get(type(value), "unknown")


def register_kind(cls: type, name: str) -> None:
    """Makes a class of values known, for modules that bring their own."""
    _KINDS[cls] = name
