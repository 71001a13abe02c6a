"""An object as text: who it is, what it should be, how it is, and what happened to it."""

import base64
import binascii
from typing import Any

from ingot.api.object import Object, name_of, namespace_of
from ingot.cli.describe import last_seen
from ingot.cli.table import lines, terminal_width
from ingot.cli.wrap import hanging
from ingot.standalone.table import age

NONE = "<none>"
# kubectl keeps the whole manifest there, with what is secret in it.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# These have sections of their own.
_TOLD = ("apiVersion", "kind", "metadata", "status")


def portrait(obj: Object, events: list[Object]) -> str:
    """All sections, without a newline at the end."""
    status = dict(obj.get("status") or {})
    conditions = status.pop("conditions", None) or []
    sections = [_head(obj)]
    for key, value in obj.items():
        if key not in _TOLD and value not in ({}, [], None):
            sections.append(_section(key, value))
    if status:
        sections.append(_section("status", status))
    if conditions:
        sections.append(conditions_table(conditions))
    sections.append(events_table(events))
    return "\n".join(sections)


def discreet(obj: Object) -> Object:
    """The object without what nobody should see over a shoulder: a Secret's values become their sizes."""
    metadata = dict(obj["metadata"])
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    shown = obj | {"metadata": metadata}
    if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Secret") and obj.get("data"):
        shown["data"] = {key: f"{_size(value)} bytes" for key, value in obj["data"].items()}
    return shown


def _head(obj: Object) -> str:
    metadata = obj["metadata"]
    entries: list[tuple[str, list[str]]] = [("Name", [name_of(obj)])]
    if namespace_of(obj):
        entries.append(("Namespace", [namespace_of(obj)]))
    entries.append(("Kind", [f"{obj.get('kind', '')} ({obj.get('apiVersion', '')})"]))
    entries.append(("Created", [moment(metadata.get("creationTimestamp"))]))
    if metadata.get("deletionTimestamp"):
        waits = ", ".join(metadata.get("finalizers") or []) or "its dependents or its grace period"
        entries.append(("Deleted", [f"{moment(metadata['deletionTimestamp'])}, waits for {waits}"]))
    entries.append(("Labels", _pairs(metadata.get("labels"), "=")))
    entries.append(("Annotations", _pairs(metadata.get("annotations"), ": ")))
    if owners := metadata.get("ownerReferences"):
        entries.append(("Owners", [f"{owner['kind']}/{owner['name']}" for owner in owners]))
    if finalizers := metadata.get("finalizers"):
        entries.append(("Finalizers", finalizers))
    width = max(len(title) for title, _ in entries) + 3
    rows = []
    for title, values in entries:
        for index, value in enumerate(values):
            rows.append(f"{f'{title}:' if index == 0 else '':<{width}}{value}")
    return "\n".join(rows)


def moment(timestamp: str | None) -> str:
    return f"{timestamp} ({age.since(timestamp)} ago)" if timestamp else age.UNKNOWN


def _pairs(mapping: Object | None, separator: str) -> list[str]:
    pairs = [f"{key}{separator}{value}" for key, value in sorted((mapping or {}).items())]
    return [_short(pair) for pair in pairs] or [NONE]


def _short(value: str) -> str:
    """Annotations may hold whole documents: one line of them is enough here."""
    first, newline, _ = value.partition("\n")
    return f"{first[:139]}…" if newline or len(first) > 140 else first


def _section(title: str, value: Any) -> str:
    if isinstance(value, dict | list):
        return "\n".join([f"{_titled(title)}:", *tree(value, 1)])
    return f"{_titled(title)}:   {value}"


def _titled(key: str) -> str:
    return key[:1].upper() + key[1:]


def tree(value: Any, depth: int = 0) -> list[str]:
    """Fields by their names as a manifest has them, values without quotes."""
    indent = "  " * depth
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in _entry(f"{indent}{key}:", inner, depth)]
    if isinstance(value, list):
        return [row for inner in value for row in _item(inner, depth)]
    return [f"{indent}{row}" for row in _text(value).splitlines()]


def _entry(head: str, value: Any, depth: int) -> list[str]:
    if isinstance(value, list) and len(words := ", ".join(map(_text, value))) < 100 and _is_flat(value):
        return [f"{head} {words}"]
    if (isinstance(value, dict | list) and value) or (isinstance(value, str) and "\n" in value):
        return [head, *tree(value, depth + 1)]
    return [f"{head} {_text(value)}"]


def _is_flat(value: list[Any]) -> bool:
    """Whether a list of words can stand on one line without being misread."""
    return bool(value) and all(isinstance(item, str | int | float) and ", " not in str(item) for item in value)


def _item(value: Any, depth: int) -> list[str]:
    """The rows of an item, with a dash before the first."""
    rows = tree(value, depth + 1) or ["  " * depth + "  {}"]
    return ["  " * depth + "- " + rows[0][2 * depth + 2 :], *rows[1:]]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return '""' if value == "" else NONE if value is None else str(value)


def _size(value: str) -> int:
    try:
        return len(base64.b64decode(value))
    except (binascii.Error, ValueError):
        return len(value)


def conditions_table(conditions: list[Object]) -> str:
    rows = [
        [
            str(each.get("type", "")),
            str(each.get("status", "")),
            age.since(each.get("lastTransitionTime")),
            str(each.get("reason", "")),
            str(each.get("message", "")),
        ]
        for each in conditions
    ]
    return _table("Conditions", ["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"], rows)


def events_table(events: list[Object]) -> str:
    if not events:
        return f"Events:   {NONE}"
    rows = []
    for event in events:
        series: Object = event.get("series") or {}
        source: Object = event.get("source") or {}
        rows.append(
            [
                age.since(last_seen(event)),
                str(event.get("type", "")),
                str(event.get("reason", "")),
                str(series.get("count") or event.get("count") or 1),
                str(source.get("component") or event.get("reportingComponent") or ""),
                " ".join(str(event.get("message", "")).split()),
            ]
        )
    return _table("Events", ["SEEN", "TYPE", "REASON", "COUNT", "FROM", "MESSAGE"], rows)


def _table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    """A table below its title. Messages, its last column, are the point of it: on a terminal they wrap."""
    width, told = terminal_width(), [f"  {row}" for row in lines(columns, rows)]
    if width is not None and max(map(len, told)) > width:
        told = _stacked(columns, rows, width)
    return "\n".join([f"{title}:", *told])


def _stacked(columns: list[str], rows: list[list[str]], width: int) -> list[str]:
    """Each message below its row."""
    head, *facts = lines(columns[:-1], [row[:-1] for row in rows], width - 2)
    told = [f"  {head}"]
    for fact, row in zip(facts, rows, strict=True):
        told += [f"  {fact}", *(hanging("      ", row[-1], width) if row[-1] else ())]
    return told
