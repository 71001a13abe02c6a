"""CustomResourceDefinitions out of registered kinds."""

import inspect
from typing import Any

from ingot.api.machinery import webhooks
from ingot.api.machinery.kind import Column, KindInfo, Version
from ingot.api.machinery.schema import doc_of, schema_of
from ingot.api.object import Object

_API_VERSION_DOC = "The API's group and version that this object is written in."
_KIND_DOC = "The kind of this object."
_NAME = ".metadata.name"


def crd_of(info: KindInfo) -> Object:
    """The CustomResourceDefinition of a kind, as it is applied to an API server.

    Schemas share parts among kinds: copy one before you change it.
    """
    names: Object = {
        "kind": info.kind,
        "listKind": f"{info.kind}List",
        "plural": info.plural,
        "singular": info.singular,
    }
    if info.short_names:
        names["shortNames"] = list(info.short_names)
    if info.categories:
        names["categories"] = list(info.categories)
    spec: Object = {
        "group": info.group,
        "names": names,
        "scope": "Namespaced" if info.namespaced else "Cluster",
        "versions": [_version(info, version) for version in info.versions],
    }
    if len(info.versions) > 1:
        spec["conversion"] = webhooks.conversion()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": info.crd_name},
        "spec": spec,
    }


def version_schema(info: KindInfo, version: Version) -> Object:
    """The schema of a kind in one version, with the version's overrides in place."""
    schema = schema_of(info.shape)
    schema["description"] = doc_of(info.shape)
    common: Object = {
        "apiVersion": {"type": "string", "description": _API_VERSION_DOC},
        "kind": {"type": "string", "description": _KIND_DOC},
        "metadata": _metadata(info),
    }
    schema["properties"] = {**common, **schema["properties"], **common}
    # Kubernetes checks these three itself, and a schema for the root must not be stricter.
    schema["required"] = [name for name in schema.get("required", ()) if name != "metadata"]
    if not schema["required"]:
        del schema["required"]
    for path in sorted(version.overrides, key=len):
        _override(schema, path, version.overrides[path])
    return schema


def _metadata(info: KindInfo) -> Object:
    """Kubernetes has the schema itself; a rule may point to the name only if that stands here."""
    named = any(rule.field_path == _NAME for rule in info.shape.RULES)
    return {"type": "object", **({"properties": {"name": {"type": "string"}}} if named else {})}


def _override(schema: Object, path: str, hint: Any) -> None:
    *above, last = path.split(".")
    for name in above:
        schema = _own(_own(schema, "properties"), name.removesuffix("[]"))
        if name.endswith("[]"):
            schema = _own(schema, "items")
    schema["properties"] = dict(schema["properties"])
    replaced = schema["properties"][last]
    if inspect.isfunction(hint):
        made: Object = hint(replaced)
    else:
        made = schema_of(hint)
    if "description" in replaced:
        made.setdefault("description", replaced["description"])
    schema["properties"][last] = made


def _own(schema: Object, key: str) -> Object:
    """The part of a schema under `key`, replaced by a copy: schemas share their parts."""
    schema[key] = dict(schema[key])
    part: Object = schema[key]
    return part


def _version(info: KindInfo, version: Version) -> Object:
    schema = version_schema(info, version)
    if version is not info.stored:
        # With every description twice a CRD outgrows the annotation in which `kubectl apply` keeps it.
        schema = _undescribed(schema)
    said: Object = {
        "name": version.name,
        "served": version.served,
        "storage": version is info.stored,
        "schema": {"openAPIV3Schema": schema},
    }
    if version.deprecated:
        said["deprecated"] = True
        if version.deprecation_warning:
            said["deprecationWarning"] = version.deprecation_warning
    subresources: Object = {}
    if info.status:
        subresources["status"] = {}
    if info.scale:
        subresources["scale"] = {
            "specReplicasPath": info.scale.spec,
            "statusReplicasPath": info.scale.status,
            "labelSelectorPath": info.scale.selector,
        }
    if subresources:
        said["subresources"] = subresources
    if info.columns:
        said["additionalPrinterColumns"] = [_column(column) for column in info.columns]
    if info.selectable:
        said["selectableFields"] = [{"jsonPath": path} for path in info.selectable]
    return said


def _undescribed(schema: Any) -> Any:
    if isinstance(schema, dict):
        # A field that is called description is an object here, not a text.
        kept = {key: value for key, value in schema.items() if key != "description" or not isinstance(value, str)}
        return {key: _undescribed(value) for key, value in kept.items()}
    if isinstance(schema, list):
        return [_undescribed(each) for each in schema]
    return schema


def _column(column: Column) -> Object:
    said: Object = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.doc:
        said["description"] = column.doc
    if column.priority:
        said["priority"] = column.priority
    return said
