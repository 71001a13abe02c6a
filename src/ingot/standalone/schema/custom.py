"""CustomResourceDefinitions: from the object that describes a kind to the Definition that the server works with."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ingot.api.object import Object, split_api_version
from ingot.api.status import Cause
from ingot.standalone.builtin import schemas
from ingot.standalone.resources.definition import Column, Definition, Scale, Version
from ingot.standalone.schema.crd_checks import check_crd, check_crd_status
from ingot.standalone.schema.crd_names import established, terminating
from ingot.standalone.schema.scaling import scale_causes

__all__ = [
    "check_crd",
    "check_crd_status",
    "default_crd",
    "definition_of",
    "established",
    "note_stored_version",
    "terminating",
]

# Discovery lists them in this order for custom resources.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_AGE = Column("Age", ".metadata.creationTimestamp", "date", description="How long ago the object was created.")
_KUBE_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)


def default_crd(crd: Object) -> None:
    """Fills in what a CRD may leave out, in place."""
    spec = crd["spec"]
    names = spec.setdefault("names", {})
    if not names.get("singular"):
        names["singular"] = str(names.get("kind", "")).lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
    status = crd.setdefault("status", {})
    if not status.get("storedVersions"):
        status["storedVersions"] = _storage_version(spec)


def note_stored_version(crd: Object) -> None:
    """Adds the version that objects are stored in from now on to those that they may be stored in."""
    status = crd.get("status") or {}
    stored = status.get("storedVersions") or []
    added = [name for name in _storage_version(crd["spec"]) if name not in stored]
    if added:
        crd["status"] = {**status, "storedVersions": stored + added}


def _storage_version(spec: Object) -> list[str]:
    return [version["name"] for version in spec.get("versions") or () if version.get("storage")][:1]


def definition_of(crd: Object) -> Definition:
    """The kind that a checked and defaulted CRD describes."""
    spec = crd["spec"]
    names = spec["names"]
    versions = {version["name"]: _version(spec, version) for version in spec["versions"]}
    return Definition(
        group=spec["group"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        versions=versions,
        storage_version=next(version["name"] for version in spec["versions"] if version.get("storage")),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        custom=True,
        subresources=frozenset(name for version in spec["versions"] for name in version.get("subresources") or ()),
        verbs=_VERBS,
        selectable=_selectable(spec["versions"]),
        validate=_scale_check(versions),
        first_generation=1,
        has_generation=True,
    )


def _version(spec: Object, version: Object) -> Version:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    scale = (version.get("subresources") or {}).get("scale")
    deprecated = version.get("deprecated") is True
    return Version(
        name=version["name"],
        schema=_with_metadata(schema, spec.get("preserveUnknownFields") is True),
        served=version.get("served") is True,
        columns=[_column(column) for column in version.get("additionalPrinterColumns") or ()] or [_AGE],
        scale=_scale(scale) if scale else None,
        deprecated=deprecated,
        deprecation_warning=(version.get("deprecationWarning") or _warning(spec, version)) if deprecated else "",
    )


def _with_metadata(schema: Object, preserve: bool) -> Object:
    """The schema of whole objects: every one has a type and metadata, whether its CRD says so or not."""
    own = schema.get("properties") or {}
    narrowed = own.get("metadata") or {}
    known = schemas.resolved(schemas.OBJECT_META)
    metadata = {**known, **narrowed, "type": "object"}
    metadata["properties"] = {**known["properties"], **(narrowed.get("properties") or {})}
    text = {"type": "string"}
    properties = {"apiVersion": text, "kind": text, **own, "metadata": metadata}
    made = {**schema, "properties": properties}
    if preserve:
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _column(column: Object) -> Column:
    path = column["jsonPath"]
    return Column(
        name=column["name"],
        path=path,
        type=column["type"],
        format=column.get("format") or "",
        description=column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        priority=column.get("priority") or 0,
    )


def _scale(scale: Object) -> Scale:
    return Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "")


def _selectable(versions: Iterable[Object]) -> Sequence[str]:
    paths = (field["jsonPath"] for version in versions for field in version.get("selectableFields") or ())
    return tuple(dict.fromkeys(path.removeprefix(".") for path in paths))


def _scale_check(versions: dict[str, Version]) -> Callable[[Object, Object | None], list[Cause]]:
    def check(new: Object, _old: Object | None) -> list[Cause]:
        version = versions.get(split_api_version(str(new.get("apiVersion", "")))[1])
        return scale_causes(new, version.scale) if version and version.scale else []

    return check


def _warning(spec: Object, version: Object) -> str:
    kind, group = spec["names"]["kind"], spec["group"]
    better = [
        other["name"]
        for other in spec["versions"]
        if other.get("served") and not other.get("deprecated") and _rank(other["name"]) > _rank(version["name"])
    ]
    text = f"{group}/{version['name']} {kind} is deprecated"
    return f"{text}; use {group}/{max(better, key=_rank)} {kind}" if better else text


def _rank(version: str) -> tuple[Any, ...]:
    """The order of versions: v2 before v1 before v1beta1 before v1alpha1 before other names."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return (0, [-ord(char) for char in version])
    stability = {"alpha": 0, "beta": 1, None: 2}[match[2]]
    return (1, stability, int(match[1]), int(match[3] or 0))
