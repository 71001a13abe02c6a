"""The schema of a CRD's version: what OpenAPI allows, what Kubernetes adds, and what its rules say."""

from dataclasses import dataclass, replace
from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import decode, schemas
from ingot.standalone.goprint import Shown, strings
from ingot.standalone.schema import crd_defaults, crd_lists, crd_rules, structural
from ingot.standalone.schema.node import build

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_META = ("metadata", "kind", "apiVersion")
_ROOT_FIELDS = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_DEEPEST = 100
# Go would read a null in these as an empty value; nobody means one.
_LISTS = ("required", "allOf", "anyOf", "oneOf", "x-kubernetes-list-map-keys", "x-kubernetes-validations")


@dataclass(frozen=True, slots=True)
class _Context:
    """What a schema's surroundings say about it."""

    defaults: bool = True
    no_defaults_because: str = ""
    inside_meta: bool = False
    # The nearest place above from which on old and new values cannot be told apart.
    uncorrelatable: str = ""
    rules: crd_rules.Scope | None = None


def presence(spec: Object) -> list[Cause]:
    """Every version must have a schema."""
    return [
        fields.required(f"spec.versions[{position}].schema.openAPIV3Schema", "schemas are required")
        for position, version in enumerate(spec.get("versions") or ())
        if (version.get("schema") or {}).get("openAPIV3Schema") is None
    ]


def check(schema: Object, path: str, status: bool, old: Object | None) -> list[Cause]:
    """What is wrong with the schema of whole objects; `status` tells whether they have that subresource.

    `old` is the schema that the version had before, if it was there.
    """
    fault = _unreadable(schema)
    if fault:
        return [fields.invalid(path, "", fault)]
    causes = _root_fields(schema, path) if status else []
    if schema.get("nullable"):
        causes.append(fields.forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    scope = None
    if _can_be_structural(schema):
        faults = structural.check(schema, path) or crd_defaults.check(schema, path)
        causes += faults
        scope = None if faults else crd_rules.root(build(schema), known=schema == old)
    found, rules = _check(schema, path, _Context(rules=scope), root=True)
    return causes + found + rules + (scope.costs.causes(path) if scope else [])


def _unreadable(schema: Object) -> str:
    """Why Go could not read the schema. What stands in `items` and the like has been read by nobody so far."""
    pending: list[tuple[Any, int, bool]] = [(schema, 1, False)]
    props = schemas.resolved(_PROPS)
    while pending:
        value, depth, read = pending.pop()
        if not isinstance(value, dict):
            return "json: cannot unmarshal value into Go struct field of type v1.JSONSchemaProps"
        if depth > _DEEPEST:
            return "exceeded max depth"
        fault = None if read else decode.read_error(props, value)
        if fault:
            return fault
        for keyword in _LISTS:
            if None in (value.get(keyword) or ()):
                return f"json: null cannot stand in {keyword}"
        pending += [(below, depth + 1, True) for below in _named(value)]
        pending += [(below, depth + 1, False) for below in _unnamed(value)]
    return ""


def _can_be_structural(schema: Object) -> bool:
    """Whether there is nothing in a schema, however deep, that Kubernetes does not support at all."""
    unsupported = any(schema.get(keyword) not in (None, "", {}) for keyword in (*_UNSUPPORTED, "$schema"))
    wrong = isinstance(schema.get("items"), list) or schema.get("x-kubernetes-preserve-unknown-fields") is False
    return (
        not unsupported
        and not wrong
        and all(_can_be_structural(below) for below in (*_named(schema), *_unnamed(schema)))
    )


def _named(schema: Object) -> list[Any]:
    """The schemas below that are read with the one that has them."""
    found = [*(schema.get("properties") or {}).values(), *(schema.get("patternProperties") or {}).values()]
    for keyword in ("allOf", "anyOf", "oneOf"):
        found += schema.get(keyword) or ()
    return found + [schema[key] for key in ("not",) if schema.get(key) is not None]


def _unnamed(schema: Object) -> list[Any]:
    """Those that stand where a list or a truth value might stand too."""
    found: list[Any] = []
    for keyword in ("items", "additionalProperties", "additionalItems"):
        value = schema.get(keyword)
        if isinstance(value, list):
            found += value
        elif value is not None and not isinstance(value, bool):
            found.append(value)
    return found


def _root_fields(schema: Object, path: str) -> list[Cause]:
    for keyword, value in schema.items():
        if value in (None, False, "", [], {}):
            continue
        if keyword == "type" and value != "object":
            detail = (
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            )
            return [fields.invalid(f"{path}.type", value, detail)]
        if keyword not in _ROOT_FIELDS:
            allowed = " ".join(_ROOT_FIELDS.values())
            detail = (
                f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
            )
            return [fields.invalid(path, quote_keys(schema), detail)]
    return []


def quote_keys(schema: Object) -> Shown:
    """A schema in an error is shown by what it has, not by all that it says."""
    return strings(schema)


def _check(schema: Object, path: str, context: _Context, root: bool = False) -> tuple[list[Cause], list[Cause]]:
    """(faults of the schema here and below, faults of its rules)."""
    causes = _own(schema, path, context)
    rules: list[Cause] = []
    for below, place, inner in _descend(schema, path, context, root):
        found, said = _check(below, place, inner)
        causes += found
        rules += said
    causes += crd_lists.check(schema, path)
    causes += crd_rules.text_causes(schema, path)
    if not causes and context.rules is not None:
        # A rule about a schema that is wrong would only confuse.
        rules += context.rules.causes(path, context.uncorrelatable)
    return causes, rules


def _own(schema: Object, path: str, context: _Context) -> list[Cause]:
    causes = []
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        causes.append(fields.not_supported(f"{path}.type", kind, _TYPES))
    if schema.get("default") is not None and not context.defaults:
        causes.append(fields.forbidden(f"{path}.default", f"must not be set {context.no_defaults_because}".rstrip()))
    for keyword in _UNSUPPORTED:
        value = schema.get(keyword)
        if value is not None and value not in ("", {}):
            causes.append(fields.forbidden(f"{path}.{keyword}", f"{keyword} is not supported"))
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        causes.append(fields.forbidden(f"{path}.type", detail))
    if isinstance(schema.get("items"), list) and schema["items"]:
        causes.append(fields.forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if context.inside_meta and schema.get("x-kubernetes-embedded-resource"):
        detail = "must not be used inside of resource meta"
        causes.append(fields.forbidden(f"{path}.x-kubernetes-embedded-resource", detail))
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        causes.append(fields.forbidden(f"{path}.uniqueItems", detail))
    additional = schema.get("additionalProperties")
    if schema.get("properties") and additional is not None and additional is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        causes.append(fields.forbidden(f"{path}.additionalProperties", detail))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        causes.append(
            fields.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
        )
    return causes


def _descend(schema: Object, path: str, context: _Context, root: bool) -> list[tuple[Object, str, _Context]]:
    """The schemas below, each with its path and surroundings."""
    found: list[tuple[Object, str, _Context]] = []
    scope = context.rules
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        inner = replace(context, rules=scope and scope.values())
        if context.inside_meta:
            because = "inside additionalProperties applying to object metadata"
            inner = replace(inner, defaults=False, no_defaults_because=because)
        found.append((additional, f"{path}.additionalProperties", inner))
    for name, below in (schema.get("properties") or {}).items():
        inner = replace(context, rules=scope and scope.field(name))
        if name in _META and (root or schema.get("x-kubernetes-embedded-resource")):
            inner = replace(inner, inside_meta=True)
            if root:
                inner = replace(inner, defaults=False, no_defaults_because=f"in top-level {name}")
        found.append((below, fields.key(f"{path}.properties", name), inner))
    nested = replace(context, rules=None)
    if isinstance(schema.get("not"), dict):
        found.append((schema["not"], f"{path}.not", nested))
    for keyword in ("allOf", "oneOf", "anyOf"):
        for position, branch in enumerate(schema.get(keyword) or ()):
            found.append((branch, fields.index(f"{path}.{keyword}", position), nested))
    if isinstance(schema.get("items"), dict):
        inner = replace(context, rules=scope and scope.items())
        if schema.get("x-kubernetes-list-type") != "map":
            inner = replace(inner, uncorrelatable=context.uncorrelatable or path)
        found.append((schema["items"], f"{path}.items", inner))
    return found
