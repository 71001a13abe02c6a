"""Selectors inside objects: which labels, which nodes."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import meta, names

_NO_OPERATOR = "not a valid selector operator"


def label_selector(field: str, selector: Object) -> list[Cause]:
    """What is wrong with a LabelSelector."""
    causes = meta.label_causes(f"{field}.matchLabels", selector.get("matchLabels") or {})
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        path = f"{field}.matchExpressions[{index}]"
        causes += _operator(path, requirement) + _names(path, requirement)
    return causes


def node_selector(field: str, selector: Object) -> list[Cause]:
    """What is wrong with a NodeSelector: terms of which one must hold."""
    path = f"{field}.nodeSelectorTerms"
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [fields.required(path, "must have at least one node selector term")]
    return [cause for index, term in enumerate(terms) for cause in node_selector_term(f"{path}[{index}]", term)]


def node_selector_term(field: str, term: Object) -> list[Cause]:
    causes = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        path = f"{field}.matchExpressions[{index}]"
        causes += _node_operator(path, requirement) + _names(path, requirement)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        causes += _node_field(f"{field}.matchFields[{index}]", requirement)
    return causes


def _operator(field: str, requirement: Object) -> list[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in ("In", "NotIn"):
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if values else [fields.required(f"{field}.values", why)]
    if operator in ("Exists", "DoesNotExist"):
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [fields.forbidden(f"{field}.values", why)] if values else []
    return [fields.invalid(f"{field}.operator", operator, _NO_OPERATOR)]


def _node_operator(field: str, requirement: Object) -> list[Cause]:
    if requirement.get("operator") not in ("Gt", "Lt"):
        return _operator(field, requirement)
    if len(requirement.get("values") or ()) == 1:
        return []
    return [fields.required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")]


def _names(field: str, requirement: Object) -> list[Cause]:
    causes = fields.checked(f"{field}.key", requirement.get("key", ""), names.qualified)
    for index, value in enumerate(requirement.get("values") or ()):
        causes += fields.checked(f"{field}.values[{index}]", value, names.label_value)
    return causes


def _node_field(field: str, requirement: Object) -> list[Cause]:
    """A requirement on a field of the node, of which there is one: its name."""
    causes = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        causes.append(fields.invalid(f"{field}.operator", operator, _NO_OPERATOR))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.append(fields.required(f"{field}.values", why))
    if requirement.get("key") != "metadata.name":
        why = "not a valid field selector key"
        return [*causes, fields.invalid(f"{field}.key", requirement.get("key", ""), why)]
    for index, value in enumerate(values):
        causes += fields.checked(f"{field}.values[{index}]", value, names.subdomain)
    return causes
