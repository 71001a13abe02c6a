"""The schemas of an OpenAPI document: Kubernetes' own out of the published text, custom ones out of their CRDs."""

from typing import Any

import msgspec

from ingot.api.object import Object
from ingot.standalone.builtin import schemas
from ingot.standalone.openapi.published import published, type_fields
from ingot.standalone.resources.definition import Definition, Version

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
STATUS = f"{META}.Status"
DELETE_OPTIONS = f"{META}.DeleteOptions"
PATCH = f"{META}.Patch"
SCALE = "io.k8s.api.autoscaling.v1.Scale"
# What a subresource takes and gives, where that is not the kind itself.
SUBRESOURCES = {
    "binding": "io.k8s.api.core.v1.Binding",
    "eviction": "io.k8s.api.policy.v1.Eviction",
    "scale": SCALE,
    "token": "io.k8s.api.authentication.v1.TokenRequest",
}
_ALWAYS = (STATUS, DELETE_OPTIONS, PATCH, schemas.OBJECT_META, schemas.LIST_META)


def reference(name: str) -> Object:
    return {"$ref": schemas.REFERENCE + name}


def schema_name(definition: Definition, version: Version) -> str:
    """The schema's name: Kubernetes' own, or one made of the group backwards, such as `io.kubevirt.cdi.v1beta1.X`."""
    if version.schema_name:
        return version.schema_name
    backwards = ".".join(reversed(definition.group.split(".")))
    return f"{backwards}.{version.name}.{definition.kind}"


def components(kinds: list[tuple[Definition, Version]]) -> Object:
    """Every schema that the documents of these kinds refer to, by name."""
    made: Object = {}
    roots = set(_ALWAYS)
    known = set(schemas.names())
    for definition, version in kinds:
        roots.update(SUBRESOURCES[name] for name in definition.subresources if name in SUBRESOURCES)
        if version.schema_name:
            roots |= {version.schema_name, f"{version.schema_name}List"} & known
        else:
            name = schema_name(definition, version)
            made[name] = custom(definition, version)
            made[f"{name}List"] = custom_list(definition, version)
    for name in schemas.closure(roots):
        # Text at once: all of them as dictionaries would take tens of times the room.
        made[name] = msgspec.Raw(msgspec.json.encode(published(name)))
    return dict(sorted(made.items()))


def custom(definition: Definition, version: Version) -> Object:
    """The schema of a custom resource, whose metadata is that of every object."""
    properties = {**version.schema.get("properties", {}), **type_fields()}
    return {**version.schema, "properties": properties, **_named(definition, version, definition.kind)}


def custom_list(definition: Definition, version: Version) -> Object:
    name = schema_name(definition, version)
    kind = definition.list_kind or f"{definition.kind}List"
    text: dict[str, Any] = {"type": "string"}
    return {
        "description": f"{kind} is a list of {definition.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {"allOf": [reference(schemas.LIST_META)]},
            "items": {"type": "array", "items": reference(name)},
        },
        **_named(definition, version, kind),
    }


def _named(definition: Definition, version: Version, kind: str) -> Object:
    named = {"group": definition.group, "kind": kind, "version": version.name}
    return {"x-kubernetes-group-version-kind": [named]}
