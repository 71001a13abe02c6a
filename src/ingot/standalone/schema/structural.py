"""Structural schemas: what kube-apiserver asks of a schema so that it can prune, default and publish by it.

The type of everything must be said outside of allOf, anyOf, oneOf and not; those may only narrow what is said.
"""

from typing import Any, Literal

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.schema.goregex import PatternError
from ingot.standalone.schema.patterns import pattern

Level = Literal["root", "item", "field"]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
# What a branch may not say, and the word for how it must be instead.
_FORBIDDEN = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    _PRESERVE: "false",
    _EMBEDDED: "false",
    _INT_OR_STRING: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
_BRANCHES = ("anyOf", "allOf", "oneOf")
_INT_OR_STRING_BRANCHES = [{"type": "integer"}, {"type": "string"}]


def check(schema: Object, path: str) -> list[Cause]:
    """What keeps a schema from being structural, sorted by text."""
    causes = _invariants(schema, "root", path) + _completeness(schema, schema, path, path)
    return sorted(causes, key=str)


def _invariants(schema: Object, level: Level, path: str) -> list[Cause]:
    causes: list[Cause] = []
    kind = schema.get("type") or ""
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        causes.append(fields.required(f"{path}.items", "must be specified"))
    if isinstance(items, dict):
        causes += _invariants(items, "item", f"{path}.items")
    for name, below in _properties(schema).items():
        causes += _invariants(below, "field", fields.key(f"{path}.properties", name))
    if additional is not None and level == "root":
        causes.append(fields.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    if isinstance(additional, dict):
        causes += _invariants(additional, "field", f"{path}.additionalProperties")
    causes += _exclusions(schema, path)
    causes += _value_validation(schema, path, _is_int_or_string(schema))
    causes += _type(schema, level, path)
    if level == "root" or schema.get(_EMBEDDED):
        causes += _type_meta(schema, path)
    if "metadata" in _properties(schema):
        causes += _metadata(schema, level, path)
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not _properties(schema):
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        causes.append(fields.required(f"{path}.properties", detail))
    return causes


def _exclusions(schema: Object, path: str) -> list[Cause]:
    if not schema.get(_INT_OR_STRING):
        return []
    detail = f"must be false if {_INT_OR_STRING} is true"
    return [fields.invalid(f"{path}.{key}", True, detail) for key in (_PRESERVE, _EMBEDDED) if schema.get(key)]


def _type(schema: Object, level: Level, path: str) -> list[Cause]:
    kind, place = schema.get("type") or "", f"{path}.type"
    causes = []
    if schema.get(_EMBEDDED) and kind != "object":
        detail = f"must be object if {_EMBEDDED} is true"
        causes.append(fields.invalid(place, kind, detail) if kind else fields.required(place, detail))
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        causes.append(fields.required(place, _EMPTY_TYPE[level]))
    if schema.get(_EMBEDDED) and schema.get("additionalProperties") is not None:
        detail = f"must not be used if {_EMBEDDED} is set"
        causes.append(fields.forbidden(f"{path}.additionalProperties", detail))
    if level == "root" and kind and kind != "object":
        causes.append(fields.invalid(place, kind, "must be object at the root"))
    return causes


def _type_meta(schema: Object, path: str) -> list[Cause]:
    return [
        fields.invalid(f"{fields.key(f'{path}.properties', name)}.type", below.get("type") or "", "must be string")
        for name, below in _properties(schema).items()
        if name in ("kind", "apiVersion") and below.get("type") != "string"
    ]


def _metadata(schema: Object, level: Level, path: str) -> list[Cause]:
    metadata, place = schema["properties"]["metadata"], fields.key(f"{path}.properties", "metadata")
    causes = []
    if (level == "root" or schema.get(_EMBEDDED)) and metadata.get("type") != "object":
        causes.append(fields.invalid(f"{place}.type", metadata.get("type") or "", "must be object"))
    if level == "root":
        said = {key for key, value in metadata.items() if value not in (None, False, "", [], {})}
        said -= {"type", "default", "example", "externalDocs"}
        names = set(_properties(metadata))
        if not names or names <= {"name", "generateName"}:
            said.discard("properties")
        if said:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            causes.append(fields.forbidden(place, detail))
    return causes


def _is_int_or_string(schema: Object) -> bool:
    """The one way to write a type in branches: anyOf integer or string, at the top or first in allOf."""
    return schema.get("anyOf") == _INT_OR_STRING_BRANCHES


def _value_validation(schema: Object, path: str, skip_any_of: bool) -> list[Cause]:
    causes: list[Cause] = []
    for keyword in _BRANCHES:
        if keyword == "anyOf" and skip_any_of:
            continue
        for position, branch in enumerate(schema.get(keyword) or ()):
            skip = keyword == "allOf" and position == 0 and _is_int_or_string(branch)
            causes += _nested(branch, fields.index(f"{path}.{keyword}", position), skip)
    if isinstance(schema.get("not"), dict):
        causes += _nested(schema["not"], f"{path}.not", False)
    if schema.get("pattern"):
        try:
            pattern(schema["pattern"])
        except PatternError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            causes.append(fields.invalid(f"{path}.pattern", schema["pattern"], detail))
    return causes


def _nested(branch: Object, path: str, skip_any_of: bool) -> list[Cause]:
    causes = _value_validation(branch, path, skip_any_of)
    if isinstance(branch.get("items"), dict):
        causes += _nested(branch["items"], f"{path}.items", False)
    for name, below in _properties(branch).items():
        causes += _nested(below, fields.key(f"{path}.properties", name), False)
    for keyword, word in _FORBIDDEN.items():
        # An empty schema for additional properties is a schema all the same.
        if branch.get(keyword) or (keyword == "additionalProperties" and branch.get(keyword) == {}):
            causes.append(fields.forbidden(f"{path}.{keyword}", f"must be {word} to be structural"))
        elif keyword == "default" and branch.get(keyword) is not None:
            causes.append(fields.forbidden(f"{path}.default", "must be undefined to be structural"))
    if "metadata" in _properties(branch):
        detail = "must not be specified in a nested context"
        causes.append(fields.forbidden(fields.key(f"{path}.properties", "metadata"), detail))
    return causes


def _completeness(branch: Object, structure: Object | None, at: str, path: str) -> list[Cause]:
    """Whatever a branch speaks of must be there in the structure: `at` is its place, `path` the branch's."""
    causes: list[Cause] = []
    for keyword in ("allOf", "anyOf", "oneOf"):
        for position, inner in enumerate(branch.get(keyword) or ()):
            causes += _nested_completeness(inner, structure, at, fields.index(f"{path}.{keyword}", position))
    if isinstance(branch.get("not"), dict):
        causes += _nested_completeness(branch["not"], structure, at, f"{path}.not")
    return causes


def _nested_completeness(branch: Object, structure: Object | None, at: str, path: str) -> list[Cause]:
    if structure is None:
        return [fields.required(at, f"because it is defined in {path}")]
    causes = _completeness(branch, structure, at, path)
    if isinstance(branch.get("items"), dict):
        causes += _nested_completeness(branch["items"], _schema(structure.get("items")), f"{at}.items", f"{path}.items")
    for name, below in _properties(branch).items():
        place, said = fields.key(f"{at}.properties", name), fields.key(f"{path}.properties", name)
        causes += _nested_completeness(below, _properties(structure).get(name), place, said)
    return causes


def _properties(schema: Object) -> dict[str, Object]:
    return schema.get("properties") or {}


def _schema(value: Any) -> Object | None:
    return value if isinstance(value, dict) else None
