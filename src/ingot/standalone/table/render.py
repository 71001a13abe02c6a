"""`meta.k8s.io/v1 Table` from objects and the columns of their kind."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ingot.api.object import Object, name_of
from ingot.standalone.resources.definition import Column, Definition, Version
from ingot.standalone.table import age, jsonpath

NAME = Column("Name", name_of, format="name", description="The object's name, unique in its namespace.")
# What a custom resource without columns of its own shows.
AGE = Column("Age", ".metadata.creationTimestamp", "date", description="When the object was created.")


def render(
    definition: Definition,
    version: Version,
    objects: Sequence[Object],
    list_meta: Object,
    include_object: str = "Metadata",
) -> Object:
    """The Table of `objects`; `include_object` is what each row carries: None, Metadata or Object.

    In a watch every event is a Table of one row; the caller drops `columnDefinitions` from all but the first.
    """
    columns = columns_of(definition, version)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_meta,
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": [_row(columns, obj, include_object) for obj in objects],
    }


def columns_of(definition: Definition, version: Version) -> Sequence[Column]:
    """Every column, in order. Kubernetes' own kinds name theirs all; before a custom resource's stands its name."""
    if not definition.custom:
        return version.columns or (NAME, AGE)
    return (NAME, *(version.columns or (AGE,)))


def _definition(column: Column) -> Object:
    description = column.description
    if not description and isinstance(column.path, str):
        description = f"Custom resource definition column (in JSONPath format): {column.path}"
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": description,
        "priority": column.priority,
    }


def _row(columns: Sequence[Column], obj: Object, include_object: str) -> Object:
    row: Object = {"cells": [cell(column, obj) for column in columns], "object": None}
    if include_object == "Object":
        row["object"] = obj
    elif include_object != "None":
        head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        row["object"] = {**head, "metadata": obj.get("metadata", {})}
    return row


def cell(column: Column, obj: Object) -> Any:
    """The value of one cell; None where a custom resource has nothing to show."""
    if not isinstance(column.path, str):
        return column.path(obj)
    try:
        found = jsonpath.find(column.path, obj)
    except jsonpath.JsonPathError:
        return None
    return _shown(column.type, found[0]) if found else None


def _shown(kind: str, value: Any) -> Any:
    """A JSON value in a column of a type; None where the two do not fit."""
    if kind == "string":
        return _text(value)
    if kind == "date":
        return age.since(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if kind == "integer" else float(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "<no value>" if value is None else msgspec.json.encode(value, order="sorted").decode()
