"""What an expression compiles to: closures that run on a state of evaluation."""

from collections.abc import Callable
from typing import Any

from ingot.standalone.schema.cel.faults import CostExceeded, no_overload
from ingot.standalone.schema.cel.syntax import Expr


class Run:
    """One evaluation: the values of variables, and how much work is left."""

    __slots__ = ("left", "names")

    def __init__(self, names: dict[str, Any], budget: int) -> None:
        self.names = names
        self.left = budget

    def pay(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise CostExceeded


Step = Callable[[Run], Any]
# The name that each visible variable has in a Run: loops may hide an outer variable of the same name.
Scope = dict[str, str]
Compile = Callable[[Expr, Scope], Step]


def boolean(value: Any) -> bool:
    """The value of a condition; one of unknown type may turn out not to be a condition at all."""
    if isinstance(value, bool):
        return value
    raise no_overload()
