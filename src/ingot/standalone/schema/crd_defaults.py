"""Defaults in a CRD's schema: each must be valid where it stands, and have no fields that would be pruned at once."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.schema import embedded, pruning, rules, validator
from ingot.standalone.schema.defaulting import clone
from ingot.standalone.schema.node import Node, build

_META = ("metadata", "apiVersion", "kind")


def check(schema: Object, path: str) -> list[Cause]:
    return _check(build(schema), path, inside_meta=False, resource=True)


def _check(node: Node, path: str, inside_meta: bool, resource: bool) -> list[Cause]:
    causes: list[Cause] = []
    if node.default is not None:
        causes += _default(node, f"{path}.default", inside_meta)
    resource = resource or node.embedded
    if node.items is not None:
        causes += _check(node.items, f"{path}.items", inside_meta and not node.embedded, False)
    for name, below in node.properties.items():
        meta = (resource and name in _META) or (inside_meta and not node.embedded)
        causes += _check(below, fields.key(f"{path}.properties", name), meta, False)
    return causes


def _default(node: Node, path: str, inside_meta: bool) -> list[Cause]:
    value: Any = node.default
    causes: list[Cause] = []
    if not inside_meta:
        pruned = {"default": clone(value)}
        pruning.prune(pruned, Node(source={}, properties={"default": node}))
        if pruned["default"] != value:
            causes.append(fields.invalid(path, value, "must not have unknown fields"))
        embedding = embedded.with_resources(node)
        found = embedded.faults(value, node, embedding) if node in embedding and isinstance(value, dict) else []
        found = [Cause(fields.child(path, cause.field), cause.message, cause.reason) for cause in found]
    else:
        found = []
    found = found or validator.causes(value, node, base=path)
    return causes + (found or rules.default_causes(value, node, path))
