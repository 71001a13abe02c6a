"""How large the values of a schema can be in a request: what a rule over them may cost follows from it."""

from ingot.standalone.schema.cel.types import of_schema, seen_properties
from ingot.standalone.schema.node import Node

MAX_REQUEST = 3 * 1024 * 1024
_LONGEST = {"duration": 32, "date": 12, "date-time": 32}
_SHORTEST = {"duration": 3, "date": 12, "date-time": 21}
_SCALARS = {"boolean": 4, "number": 1, "integer": 1}


def min_size(node: Node) -> int:
    """The fewest bytes that a value takes up as JSON."""
    if node.int_or_string:
        return 1
    if node.type == "object" and node.values is None:
        # What has a default is filled in by the server, so a request need not carry it.
        needed = (
            (name, below)
            for name, below in seen_properties(node).items()
            if name in node.required and below.default is None and of_schema(below) is not None
        )
        return 2 + sum(len(name.encode()) + min_size(below) + 4 for name, below in needed)
    if node.type == "string":
        return _SHORTEST.get(node.format, 2)
    return _SCALARS.get(node.type, 2)


def max_elements(node: Node) -> int:
    """The most items, entries or bytes that a value can have; 0 for what has none."""
    if node.int_or_string:
        return MAX_REQUEST - 2
    limit = {"array": "maxItems", "object": "maxProperties", "string": "maxLength"}.get(node.type, "")
    bound = node.source.get(limit)
    if node.type == "array" and node.items is not None:
        return max(bound, 0) if bound is not None else (MAX_REQUEST - 2) // (min_size(node.items) + 1)
    if node.type == "object" and node.values is not None:
        return max(bound, 0) if bound is not None else (MAX_REQUEST - 2) // (min_size(node.values) + 6)
    return _max_text(node, bound) if node.type == "string" else 0


def _max_text(node: Node, bound: int | None) -> int:
    if node.format in _LONGEST:
        return _LONGEST[node.format]
    if bound is not None:
        # A character takes up to four bytes; what is encoded as base64 takes one.
        return max(bound, 0) * (1 if node.format == "byte" else 4)
    choices = [len(choice.encode()) for choice in node.source.get("enum") or () if isinstance(choice, str)]
    return max(choices) if choices and node.format != "byte" else MAX_REQUEST - 2


def max_children(node: Node) -> int | None:
    """How many values of the schema below it one value can have; None when nothing bounds them."""
    if node.type == "object" and node.additional is not None:
        bound = node.source.get("maxProperties")
    elif node.type == "array":
        bound = node.source.get("maxItems")
    else:
        return 1
    return None if bound is None else max(bound, 0)
