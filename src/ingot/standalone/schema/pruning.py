"""Fields that a schema does not know: found, and removed.

The walks keep their own stack: how deep an object is nested is up to whoever sent it.
"""

from typing import Any, NamedTuple

from ingot.api.object import Object
from ingot.standalone import fields
from ingot.standalone.schema.node import Node

_META = ("apiVersion", "kind", "metadata")


def unknown(obj: Object, root: Node) -> list[str]:
    """The paths of unknown fields, sorted: `spec.foo`, `spec.list[0].x`. The object stays as it is."""
    found: list[str] = []
    _walk(obj, root, found, drop=False)
    return sorted(found)


def prune(obj: Object, root: Node) -> None:
    """Removes them."""
    _walk(obj, root, [], drop=True)


class _Place(NamedTuple):
    """A value to look at. Where fields are kept, those without a schema stay, and those with one are looked at.

    A resource is the object itself or one embedded in it: its type and metadata are known to every schema.
    """

    value: Any
    node: Node | None
    kept: bool
    resource: bool
    path: str


def _walk(obj: Object, root: Node, found: list[str], drop: bool) -> None:
    metadata = root.properties.get("metadata")
    pending = [_Place(obj, root, root.preserve, True, "")]
    while pending:
        place = pending.pop()
        if isinstance(place.value, list):
            _enter_list(place, pending)
        elif isinstance(place.value, dict):
            for name in _enter_object(place, metadata, pending):
                found.append(fields.child(place.path, name))
                if drop:
                    del place.value[name]


def _enter_object(place: _Place, metadata: Node | None, pending: list[_Place]) -> list[str]:
    """Queues the values below that have a schema, and returns the names of fields that have none."""
    value, node, kept, resource, path = place
    strangers = []
    for name, below in value.items():
        schema: Node | bool | None
        if resource and name in _META:
            # A CRD may narrow metadata's name, but never says what else is in it.
            schema = metadata if name == "metadata" and metadata and "uid" in metadata.properties else None
            if schema is None:
                continue
        else:
            schema = None if node is None else node.properties.get(name) or node.additional
        if schema is None:
            if not kept:
                strangers.append(name)
        elif isinstance(below, dict | list):
            if isinstance(schema, Node):
                pending.append(_Place(below, schema, schema.preserve, schema.embedded, fields.child(path, name)))
            else:
                pending.append(_Place(below, None, False, False, fields.child(path, name)))
    return strangers


def _enter_list(place: _Place, pending: list[_Place]) -> None:
    schema = None if place.node is None else place.node.items
    if schema is None and place.kept:
        return
    kept = place.kept or (schema is not None and schema.preserve)
    embedded = schema is not None and schema.embedded
    for position, item in enumerate(place.value):
        if isinstance(item, dict | list):
            pending.append(_Place(item, schema, kept, embedded, f"{place.path}[{position}]"))
