"""What an expression can cost at most, before it has ever run.

Kubernetes refuses a rule that could take long for the largest object that fits into a request. This is its estimate: a
price for each step, times the sizes that the schema allows.
"""

from ingot.standalone.schema.cel.names import escape
from ingot.standalone.schema.cel.prices import ONE, UNKNOWN, Size, capped, price
from ingot.standalone.schema.cel.sizes import max_elements
from ingot.standalone.schema.cel.syntax import Call, Constant, Expr, ListOf, Loop, MapOf, Name, Opening, Select
from ingot.standalone.schema.cel.types import seen_properties
from ingot.standalone.schema.node import Node

_NEW_LIST, _NEW_MAP = 10, 30
_SCALARS = ("bool", "double", "duration", "int", "timestamp", "uint")
# For each kind of loop: what it costs once, and what each turn costs beside its body.
_LOOPS = {"all": (1, 3), "exists": (1, 4), "exists_one": (2, 2), "map": (11, 12), "filter": (11, 12)}

Path = tuple[str, ...]


def estimate(expr: Expr, root: Node) -> int:
    """The most that a checked expression about values of a schema can cost."""
    return capped(_Estimate(root).cost(expr))


class _Estimate:
    """`paths` tell where in the object a part of the expression looks; `sizes` hold results of calls."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, Size] = {}
        self.loops: dict[str, list[Expr]] = {}

    def cost(self, expr: Expr) -> int:
        match expr:
            case Name():
                return self.name(expr)
            case Select():
                return self.select(expr)
            case Call():
                return self.call(expr)
            case ListOf():
                return _NEW_LIST + sum(self.cost(item) for item in expr.items)
            case MapOf():
                return _NEW_MAP + sum(self.cost(part) for part in expr.parts())
            case Loop():
                return self.loop(expr)
            case Opening():
                return self.opening(expr)
        return 0

    def name(self, expr: Name) -> int:
        span = self.loops.get(expr.name, [])
        if not span:
            self.paths[id(expr)] = (expr.name,)
        elif span[-1].type.name in ("list", "map"):
            step = "@items" if span[-1].type.name == "list" else "@keys"
            self.paths[id(expr)] = (*self.paths.get(id(span[-1]), ()), step)
        return 1

    def select(self, expr: Select) -> int:
        if expr.type.name == "type":
            # The name of a type, which happens to have dots.
            self.paths[id(expr)] = (expr.field,)
            return 1
        operand = self.cost(expr.operand)
        if expr.test:
            return operand
        if expr.optional:
            return operand + 1
        self.paths[id(expr)] = (*self.paths.get(id(expr.operand), ()), expr.field)
        return operand + (expr.operand.type.name in ("map", "object"))

    def loop(self, expr: Loop) -> int:
        before = self.cost(expr.range)
        self.loops.setdefault(expr.variable, []).append(expr.range)
        body = self.cost(expr.body)
        test = self.cost(expr.test) if expr.test is not None else 0
        self.loops[expr.variable].pop()
        size = self.sizes[id(expr)] = self.size(expr.range)
        fixed, turn = _LOOPS[expr.kind]
        return before + fixed + size.high * (turn + body + test)

    def opening(self, expr: Opening) -> int:
        target = self.cost(expr.target)
        inner = _NEW_LIST + (target + 1) + self.cost(expr.body)
        return (target + 1) + max(inner + (not expr.flat), 1)

    def call(self, expr: Call) -> int:
        args = [self.cost(arg) for arg in expr.args]
        target = self.cost(expr.target) if expr.target is not None else 0
        costs = []
        size: Size | None = None
        for overload in expr.overloads:
            cost, result = self.function(expr, tuple(kind.name for kind in overload.args), args)
            costs.append(cost)
            if result is not None:
                size = result if size is None else size.union(result)
            if expr.function == "_[_]" and overload.args[0].name in ("list", "map"):
                step = "@items" if overload.args[0].name == "list" else "@values"
                self.paths[id(expr)] = (*self.paths.get(id(expr.args[0]), ()), step)
        if size is not None:
            self.sizes[id(expr)] = size
        return target + max(costs, default=0)

    def function(self, expr: Call, kinds: tuple[str, ...], args: list[int]) -> tuple[int, Size | None]:
        """(the cost of a call with its arguments, the size of its result if it is known)."""
        if expr.function in ("_&&_", "_||_"):
            return sum(args), None
        if expr.function == "_?_:_":
            size = self.size(expr.args[1]).union(self.size(expr.args[2]))
            return args[0] + max(args[1:]), size
        cost, result = price(self, expr, kinds)
        return cost + sum(args), result

    def size(self, expr: Expr) -> Size:
        known = self.given_size(expr)
        if known is None and expr.type.name in _SCALARS:
            return ONE
        return known or UNKNOWN

    def given_size(self, expr: Expr) -> Size | None:
        if id(expr) in self.sizes:
            return self.sizes[id(expr)]
        if isinstance(expr, Constant):
            length = len(expr.value) if isinstance(expr.value, str | bytes) else 1
            return Size(length, length)
        if isinstance(expr, ListOf | MapOf):
            count = len(expr.items) if isinstance(expr, ListOf) else len(expr.entries)
            return Size(count, count)
        return self.path_size(self.paths.get(id(expr), ()))

    def path_size(self, path: Path) -> Size | None:
        if not path:
            return None
        node: Node | None = self.root
        for step in path[1:]:
            if step == "@keys":
                # Keys have no limit of their own.
                return Size(0, 0) if node is not None and node.values is not None else None
            node = _below(node, step)
        return Size(0, max_elements(node)) if node is not None else None

    def unsized(self, expr: Expr) -> Size:
        return self.given_size(expr) or UNKNOWN

    def item_size(self, expr: Expr) -> Size:
        path = self.paths.get(id(expr))
        return self.path_size((*path, "@items")) or UNKNOWN if path else UNKNOWN


def _below(node: Node | None, step: str) -> Node | None:
    if node is None:
        return None
    if step == "@items" or step == "@values":
        return node.items or node.values
    return next((below for name, below in seen_properties(node).items() if escape(name) == step), None)
