"""Calls of functions and operators."""

from collections.abc import Callable
from typing import Any

from ingot.standalone.schema.cel import conversions, kubernetes, operators, texts
from ingot.standalone.schema.cel.declarations import FUNCTIONS
from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.steps import Compile, Run, Scope, Step, boolean
from ingot.standalone.schema.cel.syntax import Call
from ingot.standalone.schema.cel.values import NONE, Optional, kind_of
from ingot.standalone.schema.cel.views import SIZED, items_in

_LINEAR = frozenset(
    {
        *("@in", "_==_", "_!=_", "_+_", "contains", "matches", "find", "findAll", "indexOf", "lastIndexOf"),
        *("replace", "split", "join", "isSorted", "sum", "min", "max", "lowerAscii", "upperAscii", "trim"),
        *("sets.contains", "sets.intersects", "sets.equivalent"),
    }
)
_SCALARS = ("bool", "int", "uint", "double", "timestamp", "duration")
_Special = Callable[[list[Step]], Step]


def compile_call(expr: Call, scope: Scope, compile_part: Compile) -> Step:
    parts = [compile_part(part, scope) for part in expr.parts()]
    special = _SPECIAL.get(expr.function)
    if special:
        return special(parts)
    function = _function(expr)
    if expr.function in _LINEAR and any(part.type.name not in _SCALARS for part in expr.parts()):
        return _paid(parts, function)
    if len(parts) == 2:
        one, other = parts
        return lambda run: function(one(run), other(run))
    if len(parts) == 1:
        only = parts[0]
        return lambda run: function(only(run))
    return lambda run: function(*[part(run) for part in parts])


def _paid(parts: list[Step], function: Callable[..., Any]) -> Step:
    """A call whose work grows with its arguments: it is paid for by their sizes, as the turns of a loop are."""

    def step(run: Run) -> Any:
        values = [part(run) for part in parts]
        run.pay(_work(values, run.left))
        return function(*values)

    return step


def _work(values: list[Any], limit: int) -> int:
    """How much there is to look at in some values: each item, and each ten characters. Stops beyond the limit."""
    work, pending = 0, list(values)
    while pending and work <= limit:
        value = pending.pop()
        if isinstance(value, str | bytes):
            work += len(value) // 10
        elif isinstance(value, SIZED):
            work += len(value)
            pending += [item for item in items_in(value) if isinstance(item, SIZED)]
    return work


def _function(expr: Call) -> Callable[..., Any]:
    kinds = tuple(part.type.name for part in expr.parts())
    function = operators.quick(expr.function, kinds) or _IMPLEMENTATIONS[expr.function]
    # Operators look at their operands themselves.
    unsure = "dyn" in kinds and expr.function not in operators.OPERATORS
    return _guarded(expr, function) if unsure else function


def _guarded(expr: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose arguments have types that only turn out when it runs."""
    overloads = [
        tuple(arg.name for arg in overload.args)
        for overload in FUNCTIONS[expr.function]
        if overload.member == (expr.target is not None)
    ]

    def run(*values: Any) -> Any:
        given = [kind_of(value) for value in values]
        if any(_agree(given, wanted) for wanted in overloads):
            return function(*values)
        raise no_overload()

    return run


def _agree(given: list[str], wanted: tuple[str, ...]) -> bool:
    return len(given) == len(wanted) and all(
        kind == own or own == "dyn" or own.startswith("$") for kind, own in zip(given, wanted, strict=True)
    )


def _logic(stop: bool) -> _Special:
    """`&&` stops at false and `||` at true; a fault on one side does not matter if the other side decides."""

    def make(parts: list[Step]) -> Step:
        left, right = parts

        def step(run: Run) -> bool:
            try:
                if boolean(left(run)) is stop:
                    return stop
            except CelError as fault:
                return _decided(right, run, stop, fault)
            return boolean(right(run))

        return step

    return make


def _decided(right: Step, run: Run, stop: bool, fault: CelError) -> bool:
    try:
        decided = boolean(right(run)) is stop
    except CelError:
        decided = False
    if not decided:
        raise fault
    return stop


def _condition(parts: list[Step]) -> Step:
    test, then, otherwise = parts
    return lambda run: then(run) if boolean(test(run)) else otherwise(run)


def _not(parts: list[Step]) -> Step:
    operand = parts[0]
    return lambda run: not boolean(operand(run))


def _optional(use: Callable[[Optional, Step, Run], Any]) -> _Special:
    """Functions of an optional; what they fall back on is only computed when it is needed."""

    def make(parts: list[Step]) -> Step:
        target, rest = parts[0], parts[-1]

        def step(run: Run) -> Any:
            value = target(run)
            if not isinstance(value, Optional):
                raise no_overload()
            return use(value, rest, run)

        return step

    return make


def _value(optional: Optional, _rest: Step, _run: Run) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _of_non_zero(value: Any) -> Optional:
    if isinstance(value, SIZED):
        return Optional(value) if len(value) else NONE
    zero = value is None or (isinstance(value, int | float) and not value)
    return NONE if zero else Optional(value)


_SPECIAL: dict[str, _Special] = {
    "_&&_": _logic(stop=False),
    "_||_": _logic(stop=True),
    "_?_:_": _condition,
    "!_": _not,
    "value": _optional(_value),
    "hasValue": _optional(lambda optional, _rest, _run: optional.present),
    "or": _optional(lambda optional, rest, run: optional if optional.present else rest(run)),
    "orValue": _optional(lambda optional, rest, run: optional.value if optional.present else rest(run)),
}

_IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    **operators.OPERATORS,
    **conversions.CONVERSIONS,
    **texts.FUNCTIONS,
    **kubernetes.FUNCTIONS,
    "optional.of": Optional,
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _of_non_zero,
}
