"""Loops over lists and maps. Every turn costs as much as the loop's body is long."""

from collections.abc import Callable, Iterator
from typing import Any

from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.steps import Compile, Run, Scope, Step, boolean
from ingot.standalone.schema.cel.syntax import Expr, Loop, Opening, size
from ingot.standalone.schema.cel.values import NONE, Optional, kind_of
from ingot.standalone.schema.cel.views import keys


def compile_loop(expr: Loop, scope: Scope, compile_part: Compile) -> Step:
    slot = _slot(expr, expr.variable)
    inner = {**scope, expr.variable: slot}
    turns = _turns(expr, slot, compile_part(expr.range, scope), _test(expr, inner, compile_part))
    return _KINDS[expr.kind](turns, compile_part(expr.body, inner))


def _slot(expr: Expr, variable: str) -> str:
    return f"{variable}@{expr.at}"


def _test(expr: Loop, scope: Scope, compile_part: Compile) -> Step | None:
    return compile_part(expr.test, scope) if expr.test is not None else None


_Turns = Callable[[Run], Iterator[None]]


def _turns(expr: Loop, slot: str, span: Step, test: Step | None) -> _Turns:
    """Sets the loop's variable to one item after the other, and yields for each that passes the test."""
    cost = size(expr.body) + (size(expr.test) if expr.test else 0)

    def run_turns(run: Run) -> Iterator[None]:
        for item in _iterated(span(run)):
            run.pay(cost)
            run.names[slot] = item
            if test is None or boolean(test(run)):
                yield

    return run_turns


def _iterated(value: Any) -> Any:
    match kind_of(value):
        case "list":
            return value
        case "map":
            return keys(value)
    raise no_overload()


def _quantified(stop: bool) -> Callable[[_Turns, Step], Step]:
    """`all` stops at false and `exists` at true; a fault in a turn counts only if no other turn decides."""

    def make(turns: _Turns, body: Step) -> Step:
        def step(run: Run) -> bool:
            fault: CelError | None = None
            for _ in turns(run):
                try:
                    if boolean(body(run)) is stop:
                        return stop
                except CelError as error:
                    fault = fault or error
            if fault:
                raise fault
            return not stop

        return step

    return make


def _exactly_one(turns: _Turns, body: Step) -> Step:
    return lambda run: sum(boolean(body(run)) for _ in turns(run)) == 1


def _collected(turns: _Turns, body: Step) -> Step:
    return lambda run: [body(run) for _ in turns(run)]


_KINDS: dict[str, Callable[[_Turns, Step], Step]] = {
    "all": _quantified(stop=False),
    "exists": _quantified(stop=True),
    "exists_one": _exactly_one,
    "map": _collected,
    "filter": _collected,
}


def compile_opening(expr: Opening, scope: Scope, compile_part: Compile) -> Step:
    slot = _slot(expr, expr.variable)
    target = compile_part(expr.target, scope)
    body = compile_part(expr.body, {**scope, expr.variable: slot})

    def step(run: Run) -> Any:
        value = target(run)
        if not isinstance(value, Optional):
            raise no_overload()
        if not value.present:
            return NONE
        run.names[slot] = value.value
        made = body(run)
        return made if expr.flat else Optional(made)

    return step
