"""Lists that are sets or maps: nothing may be in them twice."""

import json
from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.pairs import map_key


def duplicates(obj: Object, root: Node, keyed: frozenset[Node]) -> list[Cause]:
    """What is doubled in lists that are sets or maps. `keyed` are the schemas that `with_keys` gives."""
    causes: list[Cause] = []
    pending: list[tuple[Any, Node, str]] = [(obj, root, "")]
    while pending:
        value, node, path = pending.pop()
        if isinstance(value, list):
            if node.list_type == "set":
                causes += [fields.duplicate(fields.index(path, i), value[i]) for i in _doubled(value)]
            elif node.list_type == "map":
                causes += _map_causes(value, node, path)
            if node.items in keyed:
                pending.extend((item, node.items, fields.index(path, i)) for i, item in enumerate(value))
        elif isinstance(value, dict):
            for name, below in value.items():
                schema = node.properties.get(name)
                if schema in keyed:
                    pending.append((below, schema, fields.child(path, name)))
                elif schema is None and node.values in keyed:
                    pending.append((below, node.values, fields.key(path, name)))
    return causes


def _map_causes(value: list[Any], node: Node, path: str) -> list[Cause]:
    for position, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            return [fields.invalid(fields.index(path, position), item, detail)]
    keys = [map_key(item, node.map_keys) for item in value]
    if None not in keys and len(set(keys)) == len(keys):
        return []
    # Rare: an item without all its keys, or a double. Now the keys themselves are wanted.
    given = [{name: item[name] for name in node.map_keys if name in item} if item else {} for item in value]
    return [fields.duplicate(fields.index(path, i), given[i]) for i in _doubled(given)]


def _doubled(values: list[Any]) -> list[int]:
    """Where a value stands for the second time; a third and fourth time go unreported."""
    if len(values) <= 1:
        return []
    times: dict[Any, int] = {}
    found = []
    for position, value in enumerate(values):
        identity = _identity(value)
        times[identity] = times.get(identity, 0) + 1
        if times[identity] == 2:
            found.append(position)
    return found


def _identity(value: Any) -> tuple[type, Any]:
    """Equal for equal JSON; 1, 1.0 and true differ, as they do to Go."""
    if isinstance(value, dict | list):
        return (str, json.dumps(value, sort_keys=True))
    return (type(value), value)


def with_keys(root: Node) -> frozenset[Node]:
    """The schemas that are a set or a map, or lead to one."""
    return root.leading_to(lambda node: node.list_type in ("set", "map"))
