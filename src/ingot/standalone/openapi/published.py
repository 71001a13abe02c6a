"""Kubernetes' own schemas in the form in which kube-apiserver publishes them.

The text that they come from leaves two things out: nothing may stand beside a `$ref` but in `allOf`, and what Go's
typed memory holds before anything is set is told as the default of every field that is always written.
"""

from functools import cache
from typing import Any

import msgspec

from ingot.api.object import Object
from ingot.standalone.builtin import schemas, shapes

_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "boolean": False, "number": 0}
# A kind like any other, for what is said of the fields that all kinds have.
_ANY_KIND = "io.k8s.api.core.v1.ConfigMap"


def published(name: str) -> Object:
    """The schema of that name."""
    schema: Object = msgspec.json.decode(schemas.raw(name))
    made = _form(schema)
    always = _always(name, schema)
    for field, child in made.get("properties", {}).items():
        if field in always and (zero := _zero(schema["properties"][field])) is not None:
            made["properties"][field] = _with_default(child, zero)
    for field, default in schemas.DEFAULTS.get(name, {}).items():
        made["properties"][field] = _with_default(made["properties"][field], default)
    return made


@cache
def type_fields() -> Object:
    """What every kind publishes of apiVersion, kind and metadata."""
    properties = published(_ANY_KIND)["properties"]
    made = {field: dict(properties[field]) for field in ("apiVersion", "kind", "metadata")}
    made["metadata"].pop("default")
    return made


def _always(name: str, schema: Object) -> set[str]:
    always = set(schema.get("required", ())) | set(shapes.values().get(name, ()))
    if "x-kubernetes-group-version-kind" in schema:
        always.add("metadata")
    return always.difference(shapes.nulls().get(name, ()))


def _zero(schema: Object) -> Any:
    """What Go holds where nothing is set; None where that is nothing, or is written in a form of its own."""
    if "$ref" in schema:
        target = msgspec.json.decode(schemas.raw(schema["$ref"].removeprefix(schemas.REFERENCE)))
        return {} if target.get("type") == "object" else None
    return None if schema.get("format") == "byte" else _ZEROS.get(schema.get("type", ""))


def _with_default(schema: Object, default: Any) -> Object:
    if "$ref" in schema:
        return {"allOf": [schema], "default": default}
    return {**schema, "default": default}


def _form(schema: Object) -> Object:
    made: Object = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {field: _form(child) for field, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            zero = _zero(value)
            made[key] = _form(value) if zero is None else _with_default(_form(value), zero)
        elif key == "$ref" and len(schema) > 1:
            made["allOf"] = [{"$ref": value}]
        else:
            made[key] = value
    return made
