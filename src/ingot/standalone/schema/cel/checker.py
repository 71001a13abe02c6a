"""Types for an expression: what is found wrong here would fail, or never make sense, for any object."""

from collections.abc import Mapping

from ingot.standalone.schema.cel.declarations import FUNCTIONS, Overload
from ingot.standalone.schema.cel.faults import CompileError, Issue
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
from ingot.standalone.schema.cel.types import (
    BOOL,
    DURATION,
    DYN,
    ERROR,
    PLAIN,
    TIMESTAMP,
    Type,
    field_type,
    list_of,
    map_of,
    optional_of,
    type_of,
    wildcard,
)
from ingot.standalone.schema.cel.unify import Bindings

# Names of types are values of their own: `type(x) == string`.
_TYPE_NAMES = {
    name: type_of(PLAIN[name]) for name in ("bool", "int", "uint", "double", "string", "bytes", "null_type")
} | {
    "list": type_of(list_of(DYN)),
    "map": type_of(map_of(DYN, DYN)),
    "type": type_of(Type("type")),
    "google.protobuf.Timestamp": type_of(TIMESTAMP),
    "google.protobuf.Duration": type_of(DURATION),
    "net.IP": type_of(PLAIN["ip"]),
    "net.CIDR": type_of(PLAIN["cidr"]),
}


def check(source: str, expr: Expr, variables: Mapping[str, Type]) -> Type:
    """Gives every part its type, resolves names of functions with dots, and returns the type of the whole.

    Raises CompileError with every fault.
    """
    checker = _Checker(variables)
    checker.visit(expr)
    if checker.issues:
        raise CompileError(source, checker.issues)
    checker.settle(expr)
    return expr.type


class _Checker:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.scopes: list[Mapping[str, Type]] = [_TYPE_NAMES, variables]
        self.bindings = Bindings()
        self.issues: list[Issue] = []
        # Inside the arguments of format() a list may hold values of many types.
        self.mixed = 0

    def settle(self, expr: Expr) -> None:
        expr.type = self.bindings.resolve(expr.type, free_to_dyn=True)
        for part in expr.parts():
            self.settle(part)

    def issue(self, expr: Expr, message: str) -> Type:
        self.issues.append(Issue(expr.at, message))
        return ERROR

    def lookup(self, name: str) -> Type | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def visit(self, expr: Expr) -> Type:
        expr.type = self._visit(expr)
        return expr.type

    def _visit(self, expr: Expr) -> Type:
        match expr:
            case Constant():
                return expr.kind
            case Name():
                known = self.lookup(expr.name)
                return known or self.issue(expr, f"undeclared reference to '{expr.name}' (in container '')")
            case Select():
                return self.select(expr)
            case Call():
                return self.call(expr)
            case ListOf():
                return self.list_literal(expr)
            case MapOf():
                return self.map_literal(expr)
            case Loop():
                return self.loop(expr)
            case Opening():
                return self.opening(expr)
        raise TypeError(expr)

    def select(self, expr: Select) -> Type:
        name = qualified(expr)
        known = _TYPE_NAMES.get(name) if name else None
        if known:
            return known
        operand = self.bindings.resolve(self.visit(expr.operand))
        optional = expr.optional or operand.name == "optional_type"
        target = operand.params[0] if operand.name == "optional_type" else operand
        found = self.field(expr, target)
        if expr.test:
            return BOOL
        return optional_of(found) if optional else found

    def field(self, expr: Select, target: Type) -> Type:
        if target.name == "map":
            return target.params[1]
        if target.name == "object":
            return field_type(target, expr.field) or self.issue(expr, f"undefined field '{expr.field}'")
        if target.free:
            self.bindings.assignable(DYN, target)
        elif not wildcard(target):
            self.issue(expr, f"type '{target}' does not support field selection")
        return DYN

    def call(self, expr: Call) -> Type:
        self.mixed += expr.function == "format"
        for arg in expr.args:
            self.visit(arg)
        self.mixed -= expr.function == "format"
        if expr.target is not None:
            prefix = qualified(expr.target)
            if prefix and f"{prefix}.{expr.function}" in FUNCTIONS:
                expr.function, expr.target = f"{prefix}.{expr.function}", None
            else:
                self.visit(expr.target)
        overloads = FUNCTIONS.get(expr.function)
        if overloads is None:
            return self.issue(expr, f"undeclared reference to '{expr.function}' (in container '')")
        if expr.function in ("_&&_", "_||_"):
            return self.logic(expr)
        return self.resolve(expr, overloads)

    def logic(self, expr: Call) -> Type:
        for arg in expr.args:
            if not self.bindings.assignable(arg.type, BOOL):
                self.issue(arg, f"expected type 'bool' but found '{self.bindings.resolve(arg.type)}'")
        expr.overloads = FUNCTIONS[expr.function]
        return BOOL

    def resolve(self, expr: Call, overloads: list[Overload]) -> Type:
        given = tuple(part.type for part in expr.parts())
        result: Type | None = None
        for overload in overloads:
            if overload.member != (expr.target is not None):
                continue
            outcome, *wanted = self.bindings.instantiate((overload.result, *overload.args))
            if not self.bindings.all_assignable(given, tuple(wanted)):
                continue
            expr.overloads.append(overload)
            found = self.bindings.resolve(outcome)
            if result is None:
                result = found
            elif result != DYN and found != result:
                result = DYN
        if result is not None:
            return result
        shown = [str(self.bindings.resolve(kind, free_to_dyn=True)) for kind in given]
        receiver = f"{shown.pop(0)}." if expr.target is not None else ""
        signature = f"{receiver}({', '.join(shown)})"
        return self.issue(expr, f"found no matching overload for '{expr.function}' applied to '{signature}'")

    def join(self, expr: Expr, before: Type | None, now: Type) -> Type:
        """The type of a literal's members so far."""
        if before is None:
            return now
        if self.bindings.assignable(before, now):
            return self.bindings.general(before, now)
        if self.mixed:
            return DYN
        return self.issue(expr, f"expected type '{self.bindings.resolve(before)}' but found '{now}'")

    def element(self, expr: Expr, optional: bool) -> Type:
        kind = self.visit(expr)
        if not optional:
            return kind
        if kind.name != "optional_type" and kind != DYN:
            return self.issue(expr, f"expected type '{optional_of(kind)}' but found '{kind}'")
        return kind.params[0] if kind.params else kind

    def list_literal(self, expr: ListOf) -> Type:
        joined: Type | None = None
        for position, item in enumerate(expr.items):
            joined = self.join(item, joined, self.element(item, position in expr.optional))
        return list_of(joined or self.bindings.fresh())

    def map_literal(self, expr: MapOf) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for position, (key, value) in enumerate(expr.entries):
            keys = self.join(key, keys, self.visit(key))
            values = self.join(value, values, self.element(value, position in expr.optional))
        return map_of(keys or self.bindings.fresh(), values or self.bindings.fresh())

    def loop(self, expr: Loop) -> Type:
        span = self.bindings.resolve(self.visit(expr.range))
        if span.name in ("list", "map"):
            item = span.params[0]
        elif wildcard(span) or span.free:
            self.bindings.assignable(DYN, span)
            item = DYN
        else:
            why = f"expression of type '{span}' cannot be range of a comprehension (must be list, map, or dynamic)"
            item = self.issue(expr.range, why)
        self.scopes.append({expr.variable: item})
        test = self.visit(expr.test) if expr.test is not None else BOOL
        body = self.visit(expr.body)
        self.scopes.pop()
        if not self.bindings.assignable(test, BOOL):
            kept = list_of(self.bindings.resolve(body))
            self.issue(expr, f"found no matching overload for '_?_:_' applied to '({test}, {kept}, {kept})'")
        if expr.kind in ("map", "filter"):
            return list_of(body)
        if not self.bindings.assignable(body, BOOL):
            found = self.bindings.resolve(body)
            self.issue(expr.body, f"expected type 'bool' but found '{found}'")
        return BOOL

    def opening(self, expr: Opening) -> Type:
        target = self.bindings.resolve(self.visit(expr.target))
        if target.name != "optional_type" and not wildcard(target):
            self.issue(expr, f"found no matching overload for 'hasValue' applied to '{target}.()'")
        inner = target.params[0] if target.params else DYN
        self.scopes.append({expr.variable: inner})
        body = self.visit(expr.body)
        self.scopes.pop()
        return body if expr.flat else optional_of(body)
