"""CEL's operators on values. Each raises CelError where Go's would give one."""

import operator
from collections.abc import Callable
from typing import Any

from ingot.standalone.goprint import INT64
from ingot.standalone.schema.cel import times
from ingot.standalone.schema.cel.equality import equal
from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.values import MISSING, NONE, Optional, UInt, kind_of
from ingot.standalone.schema.cel.views import SIZED, ListView, find
from ingot.standalone.schema.pairs import map_key

_UINT64 = range(2**64)
_NUMBERS = ("int", "uint", "double")
_ORDERED = ("bool", "string", "bytes", "timestamp", "duration")


def bounded(value: int, like: Any = 0) -> int:
    """The result of arithmetic on integers, or an overflow; unsigned if the operands were."""
    if isinstance(like, UInt):
        if value not in _UINT64:
            raise CelError("unsigned integer overflow")
        return UInt(value)
    if value not in INT64:
        raise CelError("integer overflow")
    return value


def add(one: Any, other: Any) -> Any:
    kinds = (kind_of(one), kind_of(other))
    match kinds:
        case ("int", "int") | ("uint", "uint"):
            return bounded(one + other, one)
        case ("double", "double") | ("string", "string") | ("bytes", "bytes"):
            return one + other
        case ("list", "list"):
            return _joined(one, other)
        case ("duration", "duration"):
            return times.span(one.nanoseconds + other.nanoseconds)
        case ("timestamp", "duration") | ("duration", "timestamp"):
            return times.moment(one.nanoseconds + other.nanoseconds)
    raise no_overload()


def _joined(one: Any, other: Any) -> Any:
    """Two lists: sets and maps keep each element once, in its first place; a map takes the second's value."""
    if not isinstance(one, ListView) or not isinstance(other, ListView) or one.node.list_type not in ("set", "map"):
        return [*one, *other]
    merged = list(one.items)
    if one.node.list_type == "set":
        return ListView(merged + [item for item in other.items if item not in merged], one.node)
    places = {map_key(item, one.node.map_keys): place for place, item in enumerate(merged)}
    for item in other.items:
        place = places.get(map_key(item, one.node.map_keys))
        if place is None:
            merged.append(item)
        else:
            merged[place] = item
    return ListView(merged, one.node)


def subtract(one: Any, other: Any) -> Any:
    match (kind_of(one), kind_of(other)):
        case ("int", "int") | ("uint", "uint"):
            return bounded(one - other, one)
        case ("double", "double"):
            return one - other
        case ("duration", "duration") | ("timestamp", "timestamp"):
            return times.span(one.nanoseconds - other.nanoseconds)
        case ("timestamp", "duration"):
            return times.moment(one.nanoseconds - other.nanoseconds)
    raise no_overload()


def multiply(one: Any, other: Any) -> Any:
    match (kind_of(one), kind_of(other)):
        case ("int", "int") | ("uint", "uint"):
            return bounded(one * other, one)
        case ("double", "double"):
            return one * other
    raise no_overload()


def divide(one: Any, other: Any) -> Any:
    match (kind_of(one), kind_of(other)):
        case ("int", "int") | ("uint", "uint"):
            if other == 0:
                raise CelError("division by zero")
            quotient = abs(one) // abs(other)
            return bounded(quotient if (one < 0) == (other < 0) else -quotient, one)
        case ("double", "double"):
            if other == 0:
                return float("nan") if one == 0 or one != one else float("inf") if one > 0 else float("-inf")
            return one / other
    raise no_overload()


def modulo(one: Any, other: Any) -> Any:
    if (kind_of(one), kind_of(other)) not in (("int", "int"), ("uint", "uint")):
        raise no_overload()
    if other == 0:
        raise CelError("modulus by zero")
    rest = abs(one) % abs(other)
    return bounded(-rest if one < 0 else rest, one)


def negate(value: Any) -> Any:
    match kind_of(value):
        case "int":
            return bounded(-value)
        case "double":
            return -value
    raise no_overload()


def comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def run(one: Any, other: Any) -> bool:
        left, right = kind_of(one), kind_of(other)
        if (left in _NUMBERS and right in _NUMBERS) or (left == right and left in _ORDERED):
            return compare(one, other)
        raise no_overload()

    return run


def index(operand: Any, key: Any) -> Any:
    found = _look_up(operand, key)
    if found is not MISSING:
        return found
    if kind_of(operand) == "list":
        raise CelError(f"index out of bounds: {key}")
    raise CelError(f"no such key: {key}")


def _look_up(operand: Any, key: Any) -> Any:
    if isinstance(operand, Optional):
        return _optional_look_up(operand, key)
    if kind_of(operand) == "list":
        if kind_of(key) != "int" and not (kind_of(key) in _NUMBERS and key == int(key)):
            raise CelError(f"unsupported index type '{kind_of(key)}' in list")
        return operand[int(key)] if 0 <= key < len(operand) else MISSING
    if kind_of(operand) == "map":
        return find(operand, key)
    raise no_overload()


def _optional_look_up(operand: Optional, key: Any) -> Optional:
    """Into an optional every step is optional."""
    if not operand.present:
        return NONE
    found = _look_up(operand.value, key)
    return NONE if found is MISSING else Optional(found)


def optional_index(operand: Any, key: Any) -> Optional:
    return _optional_look_up(operand if isinstance(operand, Optional) else Optional(operand), key)


def contains(value: Any, container: Any) -> bool:
    if kind_of(container) == "list":
        return any(equal(item, value) for item in container)
    if kind_of(container) == "map":
        return find(container, value) is not MISSING
    raise no_overload()


def size(value: Any) -> int:
    if isinstance(value, SIZED):
        return len(value)
    raise no_overload()


OPERATORS: dict[str, Callable[..., Any]] = {
    "_==_": equal,
    "_!=_": lambda one, other: not equal(one, other),
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "_<_": comparison(operator.lt),
    "_<=_": comparison(operator.le),
    "_>_": comparison(operator.gt),
    "_>=_": comparison(operator.ge),
    "_[_]": index,
    "_[?_]": optional_index,
    "@in": contains,
    "size": size,
}

# What needs no second look once the types are known: Python orders and compares these as CEL does.
_QUICK = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}


def quick(function: str, kinds: tuple[str, ...]) -> Callable[..., Any] | None:
    """A cheaper way to run an operator on operands of known types, if there is one."""
    if function not in _QUICK or len(set(kinds)) != 1:
        return None
    return _QUICK[function] if kinds[0] in (*_NUMBERS, *_ORDERED) else None
