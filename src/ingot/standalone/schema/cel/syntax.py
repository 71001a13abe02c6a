"""Expressions as trees. Every part knows the offset of the sign that makes it, and, once checked, its type."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ingot.standalone.schema.cel.declarations import Overload
from ingot.standalone.schema.cel.types import DYN, Type

LoopKind = Literal["all", "exists", "exists_one", "map", "filter"]


@dataclass(slots=True)
class Expr:
    at: int
    type: Type = field(default=DYN, init=False)

    def parts(self) -> "list[Expr]":
        """The expressions that this one is made of."""
        return []


@dataclass(slots=True)
class Constant(Expr):
    value: Any
    kind: Type


@dataclass(slots=True)
class Name(Expr):
    name: str


@dataclass(slots=True)
class Select(Expr):
    """`operand.field`, `operand.?field` or, for a test, `has(operand.field)`."""

    operand: Expr
    field: str
    test: bool = False
    optional: bool = False

    def parts(self) -> list[Expr]:
        return [self.operand]


@dataclass(slots=True)
class Call(Expr):
    """`function(args)` or `target.function(args)`; operators are functions such as `_+_`."""

    function: str
    target: Expr | None
    args: list[Expr]
    # The ways to call the function that fit the arguments; known once the expression is checked.
    overloads: list[Overload] = field(default_factory=list, init=False)

    def parts(self) -> list[Expr]:
        return [*([self.target] if self.target else []), *self.args]


@dataclass(slots=True)
class ListOf(Expr):
    items: list[Expr]
    # Positions written as `?item`: left out if the optional has no value.
    optional: frozenset[int]

    def parts(self) -> list[Expr]:
        return self.items


@dataclass(slots=True)
class MapOf(Expr):
    entries: list[tuple[Expr, Expr]]
    optional: frozenset[int]

    def parts(self) -> list[Expr]:
        return [part for entry in self.entries for part in entry]


@dataclass(slots=True)
class Loop(Expr):
    """`range.all(variable, body)` and its kin; map and filter keep what passes `test` and give `body` of it."""

    kind: LoopKind
    range: Expr
    variable: str
    body: Expr
    test: Expr | None = None

    def parts(self) -> list[Expr]:
        return [self.range, self.body, *([self.test] if self.test else [])]


@dataclass(slots=True)
class Opening(Expr):
    """`target.optMap(variable, body)`: the body of an optional's value; flat when the body is an optional itself."""

    target: Expr
    variable: str
    body: Expr
    flat: bool

    def parts(self) -> list[Expr]:
        return [self.target, self.body]


def qualified(expr: Expr) -> str:
    """`a.b.c` for a chain of plain selections from a name, or ""."""
    names = []
    while isinstance(expr, Select) and not expr.test and not expr.optional:
        names.append(expr.field)
        expr = expr.operand
    return ".".join([expr.name, *reversed(names)]) if isinstance(expr, Name) else ""


def size(expr: Expr) -> int:
    """How many parts an expression has, itself included: what one evaluation of it costs, without its loops."""
    return 1 + sum(size(part) for part in expr.parts())
