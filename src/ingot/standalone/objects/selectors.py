"""Label and field selectors: texts in a query, predicates on objects."""

import re
from collections.abc import Callable
from functools import partial

from ingot.api.object import Object
from ingot.api.status import bad_request
from ingot.standalone.objects import label_selector
from ingot.standalone.paths import nested
from ingot.standalone.remember import remember

Predicate = Callable[[Object], bool]


@remember(1024)
def fields(text: str) -> tuple[tuple[str, bool, str], ...]:
    """(path, wanted, value) for every term of a field selector, sorted by their texts; 400 for a text that is none."""
    terms = []
    for part in sorted(re.split(r"(?<!\\),", text)):
        if not part:
            continue
        found = re.match(r"^([^=!]*)(==|!=|=)(.*)$", part)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        path, operator, value = found.groups()
        terms.append((path, operator != "!=", re.sub(r"\\([\\,=])", r"\1", value)))
    return tuple(terms)


def field(obj: Object, path: str) -> str:
    """The value that a field selector compares: "" where the object has none."""
    value = nested(obj, *path.split("."))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@remember(1024)
def predicate(
    label_text: str, field_text: str, selected: tuple[tuple[str, Callable[[Object], str]], ...] = ()
) -> Predicate | None:
    """One predicate for both selectors, or None where there is nothing to ask. `selected` is the Definition's."""
    wanted_labels, wanted_fields = label_selector.parse(label_text), fields(field_text)
    if not wanted_labels and not wanted_fields:
        return None

    readers = dict(selected)
    asked = [(readers.get(path) or partial(field, path=path), wanted, value) for path, wanted, value in wanted_fields]

    def matches(obj: Object) -> bool:
        found = obj.get("metadata", {}).get("labels") or {}
        return all(requirement(found) for requirement in wanted_labels) and all(
            (read(obj) == value) == wanted for read, wanted, value in asked
        )

    return matches
