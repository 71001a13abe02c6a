"""Whole resources inside a custom resource: each must say what it is, and have metadata as any resource could."""

from collections.abc import Iterator
from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import decode, meta, names, schemas
from ingot.standalone.goprint import json_type
from ingot.standalone.schema.node import Node


def faults(obj: Object, root: Node, embedding: frozenset[Node]) -> list[Cause]:
    """What is wrong with the embedded resources. `embedding` are the schemas that `with_resources` gives."""
    return [cause for value, path in _resources(obj, root, embedding) for cause in _resource(value, path)]


def unreadable(obj: Object, root: Node, embedding: frozenset[Node]) -> str | None:
    """The first value that Go could not read: metadata, of the object or of one in it, or the type of the latter."""
    fault = metadata_fault(obj.get("metadata"))
    if fault:
        return fault
    for value, path in _resources(obj, root, embedding):
        for name in ("apiVersion", "kind"):
            if not isinstance(value.get(name, ""), str):
                return str(fields.invalid(fields.child(path, name), value[name], "must be a string"))
        fault = metadata_fault(value.get("metadata"))
        if fault:
            return str(fields.invalid(fields.child(path, "metadata"), value["metadata"], fault))
    return None


def _resources(obj: Object, root: Node, embedding: frozenset[Node]) -> Iterator[tuple[Object, str]]:
    pending: list[tuple[Any, Node, str]] = [(obj, root, "")] if root in embedding else []
    while pending:
        value, node, path = pending.pop()
        if isinstance(value, list):
            if node.items in embedding:
                pending.extend((item, node.items, fields.index(path, i)) for i, item in enumerate(value))
        elif isinstance(value, dict):
            if node.embedded:
                yield value, path
            for name, below in value.items():
                schema = node.properties.get(name)
                if schema in embedding:
                    pending.append((below, schema, fields.child(path, name)))
                elif schema is None and node.values in embedding:
                    pending.append((below, node.values, fields.key(path, name)))


def with_resources(root: Node) -> frozenset[Node]:
    """The schemas of embedded resources, and those that lead to one."""
    return root.leading_to(lambda node: node.embedded)


def _resource(value: Object, path: str) -> list[Cause]:
    causes = [
        fields.required(fields.child(path, name), "must not be empty")
        for name in ("apiVersion", "kind")
        if name not in value
    ]
    for name, rule in (("apiVersion", _api_version), ("kind", _kind)):
        if name in value:
            given = value[name]
            fault = rule(given) if isinstance(given, str) else "must be a string"
            if fault:
                causes.append(fields.invalid(fields.child(path, name), given, fault))
    if "metadata" in value:
        causes += _metadata(value["metadata"], fields.child(path, "metadata"))
    return causes


def _api_version(given: str) -> str:
    if not given:
        return "must not be empty"
    return f"unexpected GroupVersion string: {given}" if given.count("/") > 1 else ""


def _kind(given: str) -> str:
    if not given:
        return "must not be empty"
    problems = names.label_1035(given.lower())
    return f"may have mixed case, but should otherwise match: {','.join(problems)}" if problems else ""


def metadata_fault(metadata: Any) -> str | None:
    """Why Go could not read the metadata, in its words; None when it can."""
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        return f"json: cannot unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta"
    return decode.read_error(schemas.resolved(schemas.OBJECT_META), metadata)


def _metadata(metadata: Any, path: str) -> list[Cause]:
    fault = metadata_fault(metadata)
    if fault:
        return [fields.invalid(path, metadata, fault)]
    named = {**(metadata or {})}
    # A template has no name of its own yet.
    named["name"] = named.get("name") or "fakename"
    causes = meta.on_create(named, bool(named.get("namespace")), names.path_segment)
    return [Cause(path + cause.field.removeprefix("metadata"), cause.message, cause.reason) for cause in causes]
