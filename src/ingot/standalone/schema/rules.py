"""The validation rules of a schema, run on an object: each at its level, on every value there."""

from dataclasses import dataclass, field, replace
from typing import Any

from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.schema.cel.faults import NO_OVERLOAD, CelError, CostExceeded
from ingot.standalone.schema.cel.types import of_schema, with_meta
from ingot.standalone.schema.cel.views import view
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.pairs import MapList, Pair
from ingot.standalone.schema.rule import Rule

# What one rule, and all the rules of one object, may cost. About what Kubernetes allows: there a step has a price by
# kind, here every part of a loop's body costs one.
_RULE_BUDGET = 1_000_000
_OBJECT_BUDGET = 10_000_000


@dataclass(slots=True)
class Level:
    """The rules of one schema and those below it."""

    node: Node
    rules: list[Rule] = field(default_factory=list)
    properties: "dict[str, Level]" = field(default_factory=dict)
    items: "Level | None" = None
    values: "Level | None" = None


def build(node: Node, root: bool = True) -> Level | None:
    """Compiles all rules in and below a schema; None when there are none."""
    relevant = node.leading_to(lambda below: bool(below.rules))
    return _level(_whole(node) if root else node, relevant) if node in relevant else None


def _whole(node: Node) -> Node:
    """The schema of whole objects as their rules see it."""
    return replace(node, properties=with_meta(node.properties))


def _level(node: Node, relevant: frozenset[Node]) -> Level:
    kind = of_schema(node)
    level = Level(node, [Rule(source, node, kind) for source in node.rules] if kind else [])
    for name, below in node.properties.items():
        if below in relevant:
            level.properties[name] = _level(below, relevant)
    if node.items in relevant:
        level.items = _level(node.items, relevant)
    if node.values in relevant:
        level.values = _level(node.values, relevant)
    return level


def causes(level: Level, obj: Any, old: Any = None, ratchet: bool = True, base: str = "") -> list[Cause]:
    """The rules that fail. Rules about a change run where an old value can be told for a new one.

    With `ratchet`, rules that fail for a part that did not change are let pass.
    """
    pair = Pair(obj, old, level.node) if ratchet and old is not None else None
    run = _Run()
    run.visit(level, obj, old, base, pair, None)
    return run.causes


def default_causes(value: Any, node: Node, path: str) -> list[Cause]:
    """What the rules say about a default: as if it stood there unchanged, and as if it had just been set."""
    level = build(node, root=False)
    if level is None:
        return []
    return causes(level, value, value, False, path) or causes(level, value, None, False, path)


class _Exhausted(Exception):
    """No rule is run any more."""


class _Run:
    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.budget = _OBJECT_BUDGET

    def visit(self, level: Level, now: Any, old: Any, path: str, pair: Pair | None, parent: Pair | None) -> None:
        try:
            self._visit(level, now, old, path, pair, parent)
        except _Exhausted:
            return

    def _visit(self, level: Level, now: Any, old: Any, path: str, pair: Pair | None, parent: Pair | None) -> None:
        """`pair` is the value with its old one, or None; `parent` the nearest one above that has a pair."""
        if now is None:
            return
        if level.rules:
            self._check(level, now, old, path, pair or parent)
        above = pair or parent
        if isinstance(now, list) and level.items is not None:
            before = MapList(old, level.node) if isinstance(old, list) else None
            for position, item in enumerate(now):
                below = pair.index(position) if pair else None
                match = before.get(item) if before else None
                self._visit(level.items, item, match, fields.index(path, position), below, above)
        elif isinstance(now, dict):
            self._visit_fields(level, now, old if isinstance(old, dict) else {}, path, pair, above)

    def _visit_fields(
        self, level: Level, now: dict[str, Any], old: dict[str, Any], path: str, pair: Pair | None, above: Pair | None
    ) -> None:
        for name, value in now.items():
            below = pair.key(name) if pair else None
            if level.values is not None:
                self._visit(level.values, value, old.get(name), fields.key(path, name), below, above)
            if name in level.properties:
                self._visit(level.properties[name], value, old.get(name), fields.child(path, name), below, above)

    def _check(self, level: Level, now: Any, old: Any, path: str, pair: Pair | None) -> None:
        shown = level.node.type
        try:
            value, before = view(now, level.node), None if old is None else view(old, level.node)
        except CelError as error:
            self.causes += [fields.invalid(path, shown, _failure(str(error), rule)) for rule in level.rules]
            return
        for rule in level.rules:
            if rule.fault:
                self.causes.append(fields.invalid(path, shown, f"rule compile error: {rule.fault}"))
            elif rule.applies(old):
                self._run_rule(rule, shown, value, before, path, pair)

    def _run_rule(self, rule: Rule, shown: str, value: Any, before: Any, path: str, pair: Pair | None) -> None:
        limit = min(self.budget, _RULE_BUDGET)
        try:
            holds, left = rule.holds(value, before, limit)
            self.budget -= limit - left
        except CelError as error:
            self.causes.append(fields.invalid(path, shown, _failure(str(error), rule)))
            return
        except CostExceeded:
            self.causes.append(fields.invalid(path, shown, self._exhaustion(rule)))
            raise _Exhausted from None
        # A rule about a change is never let pass: that nothing changed is what it was asked.
        if not holds and (rule.uses_old or pair is None or not pair.unchanged()):
            self.causes.append(rule.cause(path, shown, value, before, _RULE_BUDGET))

    def _exhaustion(self, rule: Rule) -> str:
        if self.budget < _RULE_BUDGET:
            return "validation failed due to running out of cost budget, no further validation rules will be run"
        why = "operation cancelled: actual cost limit exceeded"
        return f"'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.text}"


def _failure(error: str, rule: Rule) -> str:
    if error.startswith(NO_OVERLOAD):
        why = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {why}: {rule.text}"
    return f"{error} evaluating rule: {rule.text}"
