"""Schemas for jsonschema-rs: quick answers to what is true of nearly every object.

What is compiled here may be stricter than kube-apiserver in odd corners, where the walk that explains then finds no
fault; it must never be more lenient.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import jsonschema_rs

from ingot.api.object import Object
from ingot.standalone.goprint import INT64
from ingot.standalone.schema import formats
from ingot.standalone.schema.node import Node
from ingot.standalone.schema.patterns import pattern

Check = Callable[[Any], bool]
Place = Callable[[Node], Object]

_NEVER: Object = {"not": {}}
_COPIED = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TYPES = ("object", "array", "string", "number", "integer", "boolean")
# jsonschema-rs has formats of its own; ours must not be mistaken for them.
_FORMAT_PREFIX = "kubernetes-"


def values(root: Node) -> Check:
    """Whether a value is valid."""
    return _compile(root, _value_schema)


def known(root: Node) -> Check:
    """Whether an object has no unknown fields; `root` is a whole resource."""
    return _compile(root, lambda node, place: _known_schema(node, place, node is root))


def nulls(root: Node) -> Check:
    """Whether an object has no null that its schema does not allow."""
    return _compile(root, _null_schema)


def _compile(root: Node, render: Callable[[Node, Place], Object]) -> Check:
    """Writes a node where it is used, or under a name if it is used twice or contains itself."""
    uses = _uses(root)
    named = {node: f"n{position}" for position, node in enumerate(uses) if uses[node] > 1}
    definitions: Object = {}

    def place(node: Node) -> Object:
        if node not in named:
            return render(node, place)
        name = named[node]
        if name not in definitions:
            definitions[name] = _NEVER
            definitions[name] = render(node, place)
        return {"$ref": f"#/definitions/{name}"}

    schema = {"allOf": [place(root)], "definitions": definitions} if root in named else place(root)
    used = {node.format for node in uses}
    validator = jsonschema_rs.Draft4Validator(
        {**schema, "definitions": definitions},
        formats={_FORMAT_PREFIX + name: test for name in used if (test := formats.checker(name))},
        validate_formats=True,
        pattern_options=jsonschema_rs.RegexOptions(),
    )

    def check(value: Any) -> bool:
        try:
            return validator.is_valid(value)
        except (ValueError, RecursionError):
            # Text that is not Unicode, or nesting beyond the engine's limit: the walk will tell.
            return False

    return check


def _uses(root: Node) -> Counter[Node]:
    uses: Counter[Node] = Counter({root: 1})
    pending = [root]
    while pending:
        node = pending.pop()
        branches = [*node.all_of, *node.any_of, *node.one_of]
        for below in [*node.children(), *branches, *([node.not_] if node.not_ else [])]:
            uses[below] += 1
            if uses[below] == 1:
                pending.append(below)
    return uses


def _value_schema(node: Node, place: Place) -> Object:
    schema: Object = {name: node.source[name] for name in _COPIED if node.source.get(name) is not None}
    if node.types:
        schema["type"] = [*node.types, "null"] if node.nullable else list(node.types)
    if node.source.get("pattern"):
        expression = pattern(node.source["pattern"]).rust
        schema["pattern"] = expression if expression is not None else _never_matching()
    if formats.checker(node.format):
        schema["format"] = _FORMAT_PREFIX + node.format
    if node.source.get("enum"):
        schema["enum"] = [choice for choice in node.source["enum"] if choice is not None]
        if not schema["enum"]:
            return _NEVER
    schema.update(_number_schema(node))
    if node.properties:
        schema["properties"] = {name: place(below) for name, below in node.properties.items()}
    if node.required:
        schema["required"] = list(dict.fromkeys(node.required))
    if node.items is not None:
        schema["items"] = place(node.items)
    if node.values is not None:
        schema["additionalProperties"] = place(node.values)
    elif node.closed:
        schema["additionalProperties"] = False
    for keyword, branches in (("allOf", node.all_of), ("anyOf", node.any_of), ("oneOf", node.one_of)):
        if branches:
            schema[keyword] = [place(branch) for branch in branches]
    if node.not_ is not None:
        schema["not"] = place(node.not_)
    return schema


def _number_schema(node: Node) -> Object:
    """Bounds. Integers are Go's, with 64 bits; beyond them, and where Go rounds a bound, the walk decides."""
    schema: Object = {}
    integers = "integer" in node.types
    if integers:
        schema["minimum"], schema["maximum"] = INT64[0], INT64[-1]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if node.source.get(bound) is not None:
            schema[bound] = int(node.source[bound]) if integers else node.source[bound]
            if node.source.get(exclusive) is True:
                schema[exclusive] = True
    factor = node.source.get("multipleOf")
    if factor is not None:
        if factor > 0 and int(factor) == factor:
            schema["multipleOf"] = factor
        else:
            schema["not"] = {"type": "number"}
    return schema


def _never_matching() -> str:
    return "[^\\s\\S]"


def _known_schema(node: Node, place: Place, root: bool) -> Object:
    properties = {name: place(below) for name, below in node.properties.items()}
    if root or node.embedded:
        properties |= {"apiVersion": {}, "kind": {}}
        # Embedded metadata has fields that no schema here lists: the walk looks at it.
        properties["metadata"] = properties.get("metadata", {}) if root else _without_schema()
    schema: Object = {"properties": properties}
    if node.values is not None:
        schema["additionalProperties"] = place(node.values)
    elif node.additional is not None:
        schema["additionalProperties"] = _without_schema()
    elif not node.preserve:
        schema["additionalProperties"] = False
    if node.items is not None:
        schema["items"] = place(node.items)
    elif not node.preserve:
        schema["items"] = _without_schema()
    return schema


def _without_schema() -> Object:
    """A value without a schema has unknown fields as soon as it has fields."""
    return {"maxProperties": 0, "items": {"maxProperties": 0, "not": {"type": "array"}}}


def _null_schema(node: Node, place: Place) -> Object:
    schema: Object = {}
    if not node.nullable:
        schema["type"] = list(_TYPES)
    if node.properties:
        schema["properties"] = {name: place(below) for name, below in node.properties.items()}
    if node.values is not None:
        schema["additionalProperties"] = place(node.values)
    if node.items is not None:
        schema["items"] = place(node.items)
    return schema
