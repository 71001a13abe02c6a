"""Calls that are not calls: `has(…)`, loops such as `list.all(item, …)`, and `optMap`."""

from ingot.standalone.schema.cel.faults import Issue
from ingot.standalone.schema.cel.syntax import Expr, Loop, LoopKind, Name, Opening, Select

_LOOPS: dict[tuple[str, int], LoopKind] = {
    ("all", 2): "all",
    ("exists", 2): "exists",
    ("exists_one", 2): "exists_one",
    ("existsOne", 2): "exists_one",
    ("map", 2): "map",
    ("map", 3): "map",
    ("filter", 2): "filter",
}


def expand(at: int, name: str, target: Expr | None, args: list[Expr]) -> Expr | Issue | None:
    """What a call stands for, why it cannot, or None when it is a call like any other."""
    if target is None:
        return _has(at, args[0]) if name == "has" and len(args) == 1 else None
    kind = _LOOPS.get((name, len(args)))
    if kind is not None:
        return _loop(at, kind, target, args)
    if name in ("optMap", "optFlatMap") and len(args) == 2:
        variable = args[0]
        if not isinstance(variable, Name):
            return Issue(variable.at, f"{name}() variable name must be a simple identifier")
        return Opening(at, target, variable.name, args[1], name == "optFlatMap")
    return None


def _has(at: int, argument: Expr) -> Expr | Issue:
    if isinstance(argument, Select) and not argument.optional:
        return Select(at, argument.operand, argument.field, test=True)
    return Issue(argument.at, "invalid argument to has() macro")


def _loop(at: int, kind: LoopKind, target: Expr, args: list[Expr]) -> Expr | Issue:
    variable = args[0]
    if not isinstance(variable, Name):
        return Issue(
            variable.at, "argument must be a simple name" if kind != "map" else "argument is not an identifier"
        )
    if kind == "filter":
        return Loop(at, kind, target, variable.name, Name(variable.at, variable.name), args[1])
    if len(args) == 3:
        return Loop(at, kind, target, variable.name, args[2], args[1])
    return Loop(at, kind, target, variable.name, args[1])
