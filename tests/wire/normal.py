"""Answers without what differs from run to run: the same behaviour gives the same normal form.

Identity is kept where it is behaviour: the first uid of a case becomes `<uid-1>` wherever it appears, and so does the
first version of an object. The revision of a list is only `<revision>`, for others write at the same time.
"""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from typing import Any

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# The letters of generated names; the cases make all of theirs from prefixes that end in `gen-`.
GENERATED = re.compile(r"\b(gen-|kube-api-access-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
REPLACED = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]{8,}\b"), "<address>"),
    (re.compile(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+"), "<token>"),
    (GENERATED, r"\1<random>"),
    (re.compile(r"(?i)((?:resource version|resourceVersion in [a-z ]+): )\d+"), r"\1<revision>"),
    (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1<revision>"),
    (re.compile(r'(resourceVersion: ")\d+'), r"\1<revision>"),
    (re.compile(r"(ResourceVersion in record) \(\d+\)"), r"\1 (<revision>)"),
    (re.compile(r"(too old resource version: <revision>) \(\d+\)"), r"\1 (<revision>)"),
    (re.compile(r"(Too large resource version: <revision>, current: )\d+"), r"\1<revision>"),
    # How and where etcd keeps an object is no part of the API.
    (re.compile(r"StorageError: .*?, AdditionalErrorMsg: "), ""),
)
# An object within a message: the order of its fields is the server's own.
SHOWN = re.compile(r'(?<=Invalid value: )"\{(?:[^"\\]|\\.)*\}"(?=: )')
# The controller manager's, with a certificate and words of its own.
AUTHORITY = "kube-root-ca.crt"
AGE = re.compile(r"(?<![\w.-])\d+[smhd](\d+[smh])?(?![\w.-])")
AGE_COLUMNS = ("Age", "Last Seen", "First Seen")


class Normal:
    """The normal forms of one case; `names` maps texts that are this run's own to their placeholders."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._seen: dict[tuple[str, str], str] = {}

    def __call__(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case list():
                return [self(item) for item in value if not _is_authority(item)]
            case dict() if value.get("kind") == "Table" and "rows" in value:
                return self._table(value)
            case dict():
                return {self.text(key): self._field(key, value[key], value) for key in sorted(value)}
            case _:
                return value

    def text(self, text: str) -> str:
        for name, placeholder in self._names.items():
            text = text.replace(name, placeholder)
        for pattern, placeholder in REPLACED:
            text = pattern.sub(placeholder, text)
        text = SHOWN.sub(_in_order, text)
        return UID.sub(lambda found: self._once("uid", found[0]), text)

    def _once(self, kind: str, value: str) -> str:
        known = sum(1 for seen, _ in self._seen if seen == kind)
        return self._seen.setdefault((kind, value), f"<{kind}-{known + 1}>")

    def _field(self, key: str, value: Any, parent: dict[str, Any]) -> Any:
        match key:
            case "resourceVersion" if value not in ("", "0") and isinstance(value, str):
                return self._once("version", value) if "uid" in parent else "<revision>"
            case "continue" if value:
                return "<continue>"
            case "managedFields" if isinstance(value, list):
                # Owners of the same second come in an order of their own.
                return sorted(self._owner(entry) for entry in value)
            case _:
                return self(value)

    def _owner(self, entry: dict[str, Any]) -> str:
        """An owner in one line, with what is odd about it: all but those who own nothing have a time."""
        odd = [key for key in ("fieldsType", "time") if not entry.get(key)]
        head = [entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", ""), *odd]
        owned = sorted(self.text(path) for path in paths(entry["fieldsV1"]))
        return f"{self.text(' '.join(filter(None, head)))}: {' '.join(owned)}"

    def _table(self, table: dict[str, Any]) -> dict[str, Any]:
        # In a watch only the first table names its columns.
        names = [column["name"] for column in table["columnDefinitions"] or ()]
        plain = {key: self._field(key, table[key], table) for key in sorted(table) if key != "rows"}
        for column in plain["columnDefinitions"] or ():
            # For people, and every server's own words.
            column.pop("description", None)
        return {**plain, "rows": [self._row(row, names) for row in table["rows"]]}

    def _row(self, row: dict[str, Any], names: list[str]) -> dict[str, Any]:
        cells = [
            "<age>" if name in AGE_COLUMNS or (not names and AGE.fullmatch(str(cell))) else self(cell)
            for name, cell in zip_longest(names, row["cells"])
        ]
        return {**{key: self(row[key]) for key in sorted(row)}, "cells": cells}


def _is_authority(item: Any) -> bool:
    return isinstance(item, dict) and (item.get("metadata") or {}).get("name") == AUTHORITY


def _in_order(shown: re.Match[str]) -> str:
    """A quoted object with its fields sorted."""
    return json.dumps(json.dumps(json.loads(json.loads(shown[0])), sort_keys=True, ensure_ascii=False))


def paths(fields: dict[str, Any], prefix: str = "") -> list[str]:
    """The fields of a managedFields entry as plain paths; a path that ends in `/` is owned itself."""
    found = []
    for key, inner in fields.items():
        if key == ".":
            found.append(f"{prefix}/")
            continue
        path = f"{prefix}.{key.removeprefix('f:')}".removeprefix(".")
        found += paths(inner, path) if inner else [path]
    return found


def lines(text: str) -> list[str]:
    """Text for people, line by line, without ages and without the padding that their width makes."""
    return [re.sub(r" {3,}", "   ", line.rstrip()) for line in AGE.sub("<age>", text).splitlines()]
