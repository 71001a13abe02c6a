"""A resolved schema made ready for walking: one Node for each dictionary of it, with what the walks ask for at hand."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ingot.api.object import Object
from ingot.standalone.builtin import schemas


@dataclass(slots=True, eq=False)
class Node:
    """One schema. Cycles among schemas are cycles among nodes.

    `types` is empty when any type will do. `additional` is the schema for values of a map, True for a map of anything
    and None for an object of the named properties only; `closed` is OpenAPI's `additionalProperties: false`.
    """

    source: Object
    # The type as written; "" when there is none.
    type: str = ""
    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False
    list_type: str = ""
    map_keys: tuple[str, ...] = ()
    default: Any = None
    properties: "dict[str, Node]" = field(default_factory=dict)
    required: tuple[str, ...] = ()
    items: "Node | None" = None
    additional: "Node | bool | None" = None
    closed: bool = False
    all_of: "tuple[Node, ...]" = ()
    any_of: "tuple[Node, ...]" = ()
    one_of: "tuple[Node, ...]" = ()
    not_: "Node | None" = None
    rules: tuple[Object, ...] = ()

    @property
    def int_or_string(self) -> bool:
        return len(self.types) == 2

    @property
    def values(self) -> "Node | None":
        """The schema of a map's values, if it has one."""
        return self.additional if isinstance(self.additional, Node) else None

    def field(self, name: str) -> "Node | None":
        """The schema of a field: the property of that name, or that of a map's values."""
        return self.properties.get(name) or self.values

    def children(self) -> "list[Node]":
        """What lies below, apart from the branches of anyOf and its kin."""
        below = list(self.properties.values())
        if self.items is not None:
            below.append(self.items)
        if isinstance(self.additional, Node):
            below.append(self.additional)
        return below

    def leading_to(self, wanted: "Callable[[Node], bool]") -> "frozenset[Node]":
        """This node and those below it from which a wanted one can be reached, the wanted ones included."""
        parents: dict[Node, list[Node]] = {self: []}
        pending = [self]
        while pending:
            node = pending.pop()
            for below in node.children():
                if below not in parents:
                    parents[below] = []
                    pending.append(below)
                parents[below].append(node)
        leading = [node for node in parents if wanted(node)]
        found = set(leading)
        while leading:
            for parent in parents[leading.pop()]:
                if parent not in found:
                    found.add(parent)
                    leading.append(parent)
        return frozenset(found)


def build(schema: Object) -> Node:
    return _node(schema, {})


def _node(schema: Object, known: dict[int, Node]) -> Node:
    node = known.get(id(schema))
    if node is not None:
        return node
    node = known[id(schema)] = Node(schema, str(schema.get("type") or ""))
    node.types = _types(schema)
    node.format = str(schema.get("format") or "")
    node.nullable = schema.get("nullable") is True
    # Of Kubernetes' own types those without properties hold anything: RawExtension, FieldsV1, JSON.
    free = "properties" not in schema and schemas.name_of(schema) != ""
    node.preserve = free or schema.get("x-kubernetes-preserve-unknown-fields") is True
    node.embedded = schema.get("x-kubernetes-embedded-resource") is True
    node.list_type = str(schema.get("x-kubernetes-list-type") or "")
    node.map_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    node.default = schema.get("default")
    node.required = tuple(schema.get("required") or ())
    node.rules = tuple(schema.get("x-kubernetes-validations") or ())
    node.properties = {name: _node(inner, known) for name, inner in (schema.get("properties") or {}).items()}
    items = schema.get("items")
    if isinstance(items, dict):
        node.items = _node(items, known)
    additional = schema.get("additionalProperties")
    node.closed = additional is False
    if isinstance(additional, dict):
        node.additional = _node(additional, known)
    elif additional is not None:
        # Both true and false say that this is a map; neither has a schema for its values.
        node.additional = True
    node.all_of = _nodes(schema, "allOf", known)
    node.any_of = _nodes(schema, "anyOf", known)
    node.one_of = _nodes(schema, "oneOf", known)
    if isinstance(schema.get("not"), dict):
        node.not_ = _node(schema["not"], known)
    return node


def _nodes(schema: Object, keyword: str, known: dict[int, Node]) -> tuple[Node, ...]:
    return tuple(_node(branch, known) for branch in schema.get(keyword) or ())


def _types(schema: Object) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()
