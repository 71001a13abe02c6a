"""Which labels a selector selects, and which nodes."""

from collections.abc import Mapping, Sequence

from ingot.api.object import Object, name_of

Labels = Mapping[str, str]


def labels_of(obj: Object) -> Labels:
    labels: Labels = obj["metadata"].get("labels") or {}
    return labels


def selects(selector: Object | None, labels: Labels) -> bool:
    """Whether a LabelSelector selects these labels. An absent one selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def term_selects(term: Object, node: Object) -> bool:
    """Whether a NodeSelectorTerm selects the node. One that says nothing selects none."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    known = {"metadata.name": name_of(node)}
    labels = labels_of(node)
    return all(_holds(each, labels) for each in expressions) and all(_holds(each, known) for each in fields)


def node_selected(selector: Object | None, node: Object) -> bool:
    """Whether one term of a NodeSelector selects the node; an absent selector selects all."""
    if selector is None:
        return True
    return any(term_selects(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _holds(requirement: Object, labels: Labels) -> bool:
    key, operator = requirement.get("key", ""), requirement.get("operator")
    values, actual = requirement.get("values") or (), labels.get(key)
    if operator == "In":
        return actual is not None and actual in values
    if operator == "NotIn":
        return actual is None or actual not in values
    if operator == "Exists":
        return actual is not None
    if operator == "DoesNotExist":
        return actual is None
    return operator in ("Gt", "Lt") and _compares(actual, values, operator)


def _compares(actual: str | None, values: Sequence[str], operator: str) -> bool:
    try:
        have, bound = int(actual or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return have > bound if operator == "Gt" else have < bound
