"""Defaults of a schema, filled into an object.

An explicit null stands for "not set" wherever the schema does not allow null: it is replaced by the default if there is
one, and dropped if there is none. Items of a list are never dropped.
"""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.schema.node import Node


def fill(obj: Object, root: Node, defaulted: frozenset[Node]) -> None:
    """Fills in what is absent. `defaulted` are the schemas that `with_defaults` gives."""
    pending: list[tuple[Any, Node]] = [(obj, root)]
    while pending:
        value, node = pending.pop()
        if isinstance(value, dict):
            _fill_object(value, node)
            for name, below in value.items():
                schema = node.field(name)
                if schema in defaulted and isinstance(below, dict | list):
                    pending.append((below, schema))
        elif isinstance(value, list) and node.items in defaulted:
            _fill_list(value, node.items)
            pending.extend((item, node.items) for item in value if isinstance(item, dict | list))


def _fill_object(value: Object, node: Node) -> None:
    for name, schema in node.properties.items():
        if schema.default is not None and (name not in value or (value[name] is None and not schema.nullable)):
            value[name] = clone(schema.default)
    values = node.values
    if values is not None and values.default is not None and not values.nullable:
        for name, below in value.items():
            if below is None and name not in node.properties:
                value[name] = clone(values.default)


def _fill_list(value: list[Any], items: Node) -> None:
    if items.default is not None and not items.nullable:
        value[:] = [clone(items.default) if item is None else item for item in value]


def drop_nulls(obj: Object, root: Node) -> None:
    """Drops the fields that are null, may not be, and have no default."""
    pending: list[tuple[Any, Node]] = [(obj, root)]
    while pending:
        value, node = pending.pop()
        if isinstance(value, list):
            if node.items is not None:
                pending.extend((item, node.items) for item in value if isinstance(item, dict | list))
            continue
        for name in list(value):
            schema = node.field(name)
            if schema is None:
                continue
            if value[name] is None:
                if not schema.nullable and schema.default is None:
                    del value[name]
            elif isinstance(value[name], dict | list):
                pending.append((value[name], schema))


def with_defaults(root: Node) -> frozenset[Node]:
    """The schemas that have a default, or lead to one."""
    return root.leading_to(lambda node: node.default is not None)


def clone(value: Any) -> Any:
    """A copy of a JSON value from a schema, whose depth the schema's checks have bounded."""
    if isinstance(value, dict):
        return {name: clone(below) for name, below in value.items()}
    if isinstance(value, list):
        return [clone(item) for item in value]
    return value
