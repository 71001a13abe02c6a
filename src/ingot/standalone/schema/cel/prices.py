"""What each function of CEL costs, as Kubernetes estimates it."""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ingot.standalone.schema.cel.syntax import Call, Constant, Expr

UNBOUNDED = 2**64 - 1
_TRAVERSAL = 0.1
_REGEX = 0.25
_FORMAT_REGEX = 128 * _REGEX


class Size(NamedTuple):
    """The least and the most that a value can have of items, entries or characters."""

    low: int
    high: int

    def union(self, other: "Size") -> "Size":
        return Size(min(self.low, other.low), max(self.high, other.high))

    def plus(self, other: "Size") -> "Size":
        return Size(capped(self.low + other.low), capped(self.high + other.high))

    def times(self, other: "Size") -> "Size":
        return Size(capped(self.low * other.low), capped(self.high * other.high))

    def cost(self, factor: float = _TRAVERSAL) -> int:
        return _scaled(self.high, factor)


UNKNOWN = Size(0, UNBOUNDED)
ONE = Size(1, 1)
_ADDRESS = Size(4, 16)


def capped(value: int) -> int:
    return min(value, UNBOUNDED)


def _scaled(value: int, factor: float) -> int:
    return capped(math.ceil(value * factor))


class Sizes(Protocol):
    """What is known of the sizes of an expression's parts."""

    def size(self, expr: Expr) -> Size:
        """The size of a value; a scalar has size 1."""

    def unsized(self, expr: Expr) -> Size:
        """The same in Kubernetes' own functions: there a scalar without a limit is as large as anything."""

    def item_size(self, expr: Expr) -> Size:
        """The size of a list's items."""


Price = tuple[int, Size | None]
_Rule = Callable[[Sizes, Call, tuple[str, ...]], Price]


def price(sizes: Sizes, call: Call, kinds: tuple[str, ...]) -> Price:
    """(the cost of a call without its arguments, the size of its result if it is known), for one overload."""
    rule = _RULES.get(call.function)
    return rule(sizes, call, kinds) if rule else (1, None)


def _compared(sizes: Sizes, call: Call, kinds: tuple[str, ...]) -> Price:
    if call.function != "_==_" and call.function != "_!=_" and kinds[0] not in ("string", "bytes"):
        return 1, None
    if call.function == "_==_" and call.args[0].type.name in ("net.IP", "net.CIDR", "kubernetes.Quantity"):
        return 1, None
    smaller = min(sizes.size(call.args[0]).high, sizes.size(call.args[1]).high)
    return _scaled(smaller, _TRAVERSAL), None


def _added(sizes: Sizes, call: Call, kinds: tuple[str, ...]) -> Price:
    if kinds[0] not in ("string", "bytes", "list"):
        return 1, None
    size = sizes.size(call.args[0]).plus(sizes.size(call.args[1]))
    return (1 if kinds[0] == "list" else size.cost()), size


def _contained(sizes: Sizes, call: Call, kinds: tuple[str, ...]) -> Price:
    return (sizes.size(call.args[1]).high if kinds[1] == "list" else 1), None


def _compared_sets(factor: int) -> _Rule:
    def rule(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
        one, other = sizes.unsized(call.args[0]), sizes.unsized(call.args[1])
        return one.times(other).cost(factor) + 1, None

    return rule


def _prefix(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    return sizes.size(call.args[0]).cost(), None


def _part(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    return sizes.size(call.parts()[0]).cost() * sizes.size(call.args[0]).cost(), None


def _matched(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    if call.target is None:
        return 1, None
    text, expression = sizes.size(call.target), sizes.size(call.args[0])
    return text.plus(ONE).cost() * expression.cost(_REGEX), None


def _found(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    text, expression = sizes.unsized(call.parts()[0]), sizes.unsized(call.args[0])
    return text.plus(ONE).cost() * expression.cost(_REGEX), Size(0, text.high)


def _traversed(factor: float, keeps: bool, position: int = 0) -> _Rule:
    def rule(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
        size = sizes.unsized(call.parts()[position])
        return size.cost(factor), size if keeps else None

    return rule


def _converted(kind: str, result: Callable[[Size], Size]) -> _Rule:
    def rule(sizes: Sizes, call: Call, kinds: tuple[str, ...]) -> Price:
        if kinds[0] != kind:
            return 1, None
        size = sizes.size(call.args[0])
        return size.cost(), result(size)

    return rule


def _listed(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    """One turn through a list, comparing; or through a text, which has indexOf too."""
    target = call.parts()[0]
    size = sizes.unsized(target)
    if not target.type.params:
        return size.cost(), None
    each = 1
    if target.type.params[0].name in ("string", "bytes"):
        each += sizes.item_size(target).cost()
    return size.high * each, None


def _split(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    size = sizes.unsized(call.parts()[0])
    limit = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], Constant) else size.high
    # A negative limit is none: Kubernetes reads it as an enormous one.
    return size.cost(2 * _TRAVERSAL), Size(0, limit if limit >= 0 else UNBOUNDED)


def _joined(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    target = call.parts()[0]
    count = sizes.unsized(target)
    size = count.times(sizes.item_size(target))
    if call.args:
        between = Size(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(sizes.unsized(call.args[0]).times(between))
    return size.cost(), size


def _replaced(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    text = sizes.unsized(call.parts()[0])
    old, new = sizes.unsized(call.args[0]), sizes.unsized(call.args[1])
    most = _replacement(text.high, old.low, new.high, shrinks=new.high <= old.low)
    least = _replacement(text.low, old.high, new.low, shrinks=old.high <= new.low)
    return text.cost(2 * _TRAVERSAL), Size(least, most)


def _replacement(text: int, old: int, new: int, shrinks: bool) -> int:
    """The length of a text after replacements, as Kubernetes bounds it."""
    if old == 0:
        return capped(min(text + 1, UNBOUNDED) * new + text)
    return text if shrinks else capped(math.ceil(text / old) * new)


def _in_network(sizes: Sizes, call: Call, kinds: tuple[str, ...]) -> Price:
    cost = _ADDRESS.plus(_ADDRESS).cost()
    if call.function == "containsCIDR":
        cost += _ADDRESS.cost() + 1
    if kinds[1] == "string":
        cost += sizes.unsized(call.args[0]).cost()
    return cost, None


def _validated(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    return _scaled(sizes.unsized(call.args[0]).cost(), _FORMAT_REGEX), None


def _ip(sizes: Sizes, call: Call, _kinds: tuple[str, ...]) -> Price:
    return (sizes.unsized(call.args[0]).cost() if call.args else 1), None


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _compared),
    "_+_": _added,
    "@in": _contained,
    "sets.contains": _compared_sets(1),
    "sets.intersects": _compared_sets(1),
    "sets.equivalent": _compared_sets(2),
    "startsWith": _prefix,
    "endsWith": _prefix,
    "contains": _part,
    "matches": _matched,
    "find": _found,
    "findAll": _found,
    "format": _traversed(_TRAVERSAL, keeps=False),
    "bytes": _converted("string", lambda size: Size(size.low, capped(size.high * 4))),
    "string": _converted("bytes", lambda size: Size(size.low // 4, size.high)),
    "strings.quote": _converted("string", lambda size: Size(size.low + 2, capped(size.high * 2 + 2))),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _listed),
    "url": _traversed(_TRAVERSAL, keeps=True),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _traversed(_TRAVERSAL, keeps=True)),
    "replace": _replaced,
    "split": _split,
    "join": _joined,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity"), _traversed(_TRAVERSAL, keeps=False)),
    "ip": _ip,
    "ip.isCanonical": _traversed(2 * _TRAVERSAL, keeps=False),
    "containsIP": _in_network,
    "containsCIDR": _in_network,
    "validate": _validated,
}
