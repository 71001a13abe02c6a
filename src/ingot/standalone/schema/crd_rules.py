"""Validation rules in a CRD: whether they are written well, and whether they can be compiled."""

from dataclasses import replace

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.goprint import Shown, quote
from ingot.standalone.schema.cel.sizes import MAX_REQUEST, max_children, min_size
from ingot.standalone.schema.cel.types import of_schema, seen_properties, with_meta
from ingot.standalone.schema.crd_costs import Costs
from ingot.standalone.schema.fieldpaths import FieldPathError, resolve
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.rule import Rule

_KEY = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_UNTYPED = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)


def text_causes(schema: Object, path: str) -> list[Cause]:
    """What is wrong with the rules of a schema before they are compiled."""
    causes = []
    for position, rule in enumerate(schema.get(_KEY) or ()):
        causes += _text(rule, schema, fields.index(f"{path}.{_KEY}", position))
    return causes


def _text(rule: Object, schema: Object, path: str) -> list[Cause]:
    causes = _rule_and_message(rule, path)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        causes.append(fields.required(f"{path}.messageExpression", detail))
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        causes.append(fields.not_supported(f"{path}.reason", rule["reason"], _REASONS))
    place = rule.get("fieldPath") or ""
    if place and not place.strip():
        causes.append(fields.invalid(f"{path}.fieldPath", place, "fieldPath must be non-empty if specified"))
    if _has_newline(place):
        causes.append(fields.invalid(f"{path}.fieldPath", place, "fieldPath must not contain line breaks"))
    if place:
        try:
            resolve(place, schema)
        except FieldPathError:
            causes.append(fields.invalid(f"{path}.fieldPath", place, "fieldPath must be a valid path"))
    return causes


def _rule_and_message(rule: Object, path: str) -> list[Cause]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        return [fields.required(f"{path}.rule", "rule is not specified")]
    if message and not message.strip():
        return [fields.invalid(f"{path}.message", message, "message must be non-empty if specified")]
    if _has_newline(message.strip()):
        return [fields.invalid(f"{path}.message", message, "message must not contain line breaks")]
    if _has_newline(text) and not message.strip():
        return [fields.required(f"{path}.message", "message must be specified if rule contains line breaks")]
    return []


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


class Scope:
    """A schema on the way down a CRD, for its rules. What has no type has no rules either.

    `times` is how many values of the schema an object can have, None when no limit above it says.
    """

    def __init__(self, node: Node, costs: Costs, times: int | None = 1) -> None:
        self.node = node
        self.costs = costs
        self.times = times

    def _below(self, node: Node | None) -> "Scope | None":
        if node is None:
            return None
        factor = max_children(self.node)
        times = None if self.times is None or factor is None else self.times * factor
        return Scope(node, self.costs, times)

    def field(self, name: str) -> "Scope | None":
        return self._below(seen_properties(self.node).get(name))

    def items(self) -> "Scope | None":
        return self._below(self.node.items)

    def values(self) -> "Scope | None":
        return self._below(self.node.values)

    def causes(self, path: str, uncorrelatable: str) -> list[Cause]:
        """What keeps the rules of this schema from being compiled.

        `uncorrelatable` is the list above it in which old items cannot be told for new ones, if there is one.
        """
        if not self.node.rules:
            return []
        kind = of_schema(self.node)
        if kind is None:
            return [fields.internal(f"{path}.{_KEY}", _UNTYPED)]
        causes: list[Cause] = []
        for position, source in enumerate(self.node.rules):
            rule = Rule(source, self.node, kind)
            place = fields.index(f"{path}.{_KEY}", position)
            causes += self._cost(rule, place) + _compiled(rule, place, uncorrelatable)
        return causes

    def _cost(self, rule: Rule, path: str) -> list[Cause]:
        times = self.times if self.times is not None else MAX_REQUEST // (min_size(self.node) + 1)
        cost, message = rule.max_cost(self.node) * times, rule.max_message_cost(self.node)
        return self.costs.observe(f"{path}.rule", "rule", cost) + (
            self.costs.observe(f"{path}.messageExpression", "messageExpression", message)
        )


def root(node: Node, known: bool = False) -> Scope:
    """The scope of a whole schema; `known` if it was accepted before, and may cost what it costs."""
    return Scope(replace(node, properties=with_meta(node.properties)), Costs(known))


def _compiled(rule: Rule, path: str, uncorrelatable: str) -> list[Cause]:
    causes = []
    if rule.fault:
        causes.append(fields.invalid(f"{path}.rule", _shown(rule.source), rule.fault))
    if rule.message_fault:
        causes.append(fields.invalid(f"{path}.messageExpression", _shown(rule.source), rule.message_fault))
    if rule.uses_old:
        if uncorrelatable:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
            causes.append(fields.invalid(f"{path}.rule", rule.source["rule"], detail))
    elif rule.source.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        causes.append(fields.invalid(f"{path}.optionalOldSelf", rule.source["optionalOldSelf"], detail))
    return causes


def _shown(rule: Object) -> Shown:
    """A rule as Go prints the structure that it is read into."""
    texts = ", ".join(
        f"{name}:{quote(rule.get(key) or '')}"
        for name, key in (("Rule", "rule"), ("Message", "message"), ("MessageExpression", "messageExpression"))
    )
    reason = _pointer("apiextensions.FieldValueErrorReason", rule.get("reason"))
    optional = _pointer("bool", rule.get("optionalOldSelf"))
    path = quote(rule.get("fieldPath") or "")
    rest = f"Reason:{reason}, FieldPath:{path}, OptionalOldSelf:{optional}"
    return Shown(f"apiextensions.ValidationRule{{{texts}, {rest}}}")


def _pointer(kind: str, value: object) -> str:
    """Kubernetes shows an address in memory here; the value says more."""
    return f"(*{kind})(nil)" if value is None else f"(*{kind})({value})"
