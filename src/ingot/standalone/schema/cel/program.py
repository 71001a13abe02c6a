"""Expressions made ready to run."""

from collections.abc import Callable, Mapping
from typing import Any

from ingot.standalone.schema.cel import conversions
from ingot.standalone.schema.cel.calls import compile_call
from ingot.standalone.schema.cel.checker import check
from ingot.standalone.schema.cel.estimate import estimate
from ingot.standalone.schema.cel.faults import CelError, CompileError, Issue, ProgramError, no_overload
from ingot.standalone.schema.cel.loops import compile_loop, compile_opening
from ingot.standalone.schema.cel.parser import parse
from ingot.standalone.schema.cel.steps import Run, Scope, Step
from ingot.standalone.schema.cel.syntax import (
    Call,
    Constant,
    Expr,
    ListOf,
    Loop,
    MapOf,
    Name,
    Opening,
    Select,
    qualified,
)
from ingot.standalone.schema.cel.types import Type
from ingot.standalone.schema.cel.values import MISSING, NONE, Optional, UInt, kind_of
from ingot.standalone.schema.cel.views import MapView, find
from ingot.standalone.schema.goregex import PatternError
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.patterns import pattern

_LITERAL_CHECKS: dict[str, Callable[[str], Any]] = {
    "duration": conversions.to_duration,
    "timestamp": conversions.to_timestamp,
    "matches": pattern,
}
_LONGEST = 100_000
_KEY_KINDS = ("string", "int", "uint", "bool")


class Program:
    """A compiled expression with its type and the names that it refers to.

    Raises CompileError when the expression is wrong, ProgramError when a part of it can never run.
    """

    def __init__(self, source: str, variables: Mapping[str, Type]) -> None:
        self.source = source
        if len(source) > _LONGEST:
            why = f"expression code point size exceeds limit: size: {len(source)}, limit {_LONGEST}"
            raise CompileError("", [Issue(0, why)])
        try:
            self._compile(variables)
        except RecursionError:
            raise CompileError(source, [Issue(0, "expression recursion limit exceeded: 250")]) from None

    def _compile(self, variables: Mapping[str, Type]) -> None:
        expr = parse(self.source)
        self.type = check(self.source, expr, variables)
        issues = _literal_issues(expr)
        if issues:
            raise CompileError(self.source, issues)
        _check_searches(expr)
        self.names = _names(expr)
        self._expr = expr
        self._step = _compile(expr, {name: name for name in variables})

    def max_cost(self, node: Node) -> int:
        """What the expression can cost at most, about values of a schema."""
        return estimate(self._expr, node)

    def run(self, variables: dict[str, Any], budget: int) -> tuple[Any, int]:
        """(the value, what is left of the budget). Raises CelError and CostExceeded."""
        run = Run(dict(variables), budget)
        value = self._step(run)
        return value, run.left


def _names(expr: Expr) -> frozenset[str]:
    own = {expr.name} if isinstance(expr, Name) else set()
    return frozenset(own.union(*(_names(part) for part in expr.parts())))


def _literal_issues(expr: Expr) -> list[Issue]:
    """Literals that can never be what they are used as: a time, a span, a regular expression."""
    found = [issue for part in expr.parts() for issue in _literal_issues(part)]
    if isinstance(expr, Call) and expr.function in _LITERAL_CHECKS and expr.args:
        argument = expr.args[-1]
        if isinstance(argument, Constant) and isinstance(argument.value, str):
            try:
                _LITERAL_CHECKS[expr.function](argument.value)
            except (CelError, PatternError):
                found.append(Issue(argument.at, f"invalid {expr.function} argument"))
    return found


def _check_searches(expr: Expr) -> None:
    for part in expr.parts():
        _check_searches(part)
    if isinstance(expr, Call) and expr.function in ("find", "findAll") and isinstance(expr.args[0], Constant):
        try:
            pattern(expr.args[0].value).check_search()
        except PatternError as error:
            raise ProgramError(str(error)) from None


def _compile(expr: Expr, scope: Scope) -> Step:
    match expr:
        case Constant():
            value = UInt(expr.value) if expr.kind.name == "uint" else expr.value
            return lambda _: value
        case Name():
            return _name(expr, scope)
        case Select():
            return _select(expr, scope)
        case Call():
            return compile_call(expr, scope, _compile)
        case ListOf():
            return _list(expr, scope)
        case MapOf():
            return _map(expr, scope)
        case Loop():
            return compile_loop(expr, scope, _compile)
        case Opening():
            return compile_opening(expr, scope, _compile)
    raise TypeError(expr)


def _name(expr: Name, scope: Scope) -> Step:
    if expr.name in scope:
        slot = scope[expr.name]
        return lambda run: run.names[slot]
    kind = conversions.TYPE_VALUES[expr.name]
    return lambda _: kind


def _select(expr: Select, scope: Scope) -> Step:
    kind = conversions.TYPE_VALUES.get(qualified(expr))
    if kind is not None:
        return lambda _: kind
    operand, name = _compile(expr.operand, scope), expr.field

    def look_up(value: Any) -> Any:
        if kind_of(value) != "map":
            raise no_overload()
        return find(value, name)

    def test(run: Run) -> bool:
        value = operand(run)
        if isinstance(value, MapView):
            return value.has(name)
        if isinstance(value, Optional):
            return value.present and look_up(value.value) is not MISSING
        return look_up(value) is not MISSING

    def get(run: Run) -> Any:
        value = operand(run)
        if expr.optional or isinstance(value, Optional):
            return _optional_field(value, look_up)
        found = look_up(value)
        if found is MISSING:
            raise CelError(f"no such key: {name}")
        return found

    return test if expr.test else get


def _optional_field(value: Any, look_up: Callable[[Any], Any]) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    found = look_up(value)
    return NONE if found is MISSING else Optional(found)


def _list(expr: ListOf, scope: Scope) -> Step:
    items = [(_compile(item, scope), position in expr.optional) for position, item in enumerate(expr.items)]

    def step(run: Run) -> list[Any]:
        made = []
        for item, optional in items:
            value = item(run)
            if not optional:
                made.append(value)
            elif value.present:
                made.append(value.value)
        return made

    return step


def _map(expr: MapOf, scope: Scope) -> Step:
    entries = [
        (_compile(key, scope), _compile(value, scope), position in expr.optional)
        for position, (key, value) in enumerate(expr.entries)
    ]

    def step(run: Run) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value, optional in entries:
            name, inner = key(run), value(run)
            if kind_of(name) not in _KEY_KINDS:
                raise CelError(f"unsupported key type: {kind_of(name)}")
            if name in made:
                raise CelError(f"Failed with repeated key: {name}")
            if not optional:
                made[name] = inner
            elif inner.present:
                made[name] = inner.value
        return made

    return step
