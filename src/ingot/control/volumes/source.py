"""Where the content of a DataVolume comes from, and the Volume*Source that tells a populator so."""

from collections.abc import Iterable
from enum import StrEnum

from ingot.api.cdi import names
from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_VOLUMES,
    IMPORT_SOURCES,
    SNAPSHOTS,
    UPLOAD_SOURCES,
    VOLUME_CLAIMS,
)
from ingot.control.volumes.fault import VolumeFault
from ingot.kube.cache import Cache, Key
from ingot.kube.objects import controller_of, copy_of, set_controller_reference

# How many DataSources are followed, one to the next.
LINKS = 2

NOT_DELIVERED = "SourceNotDelivered"
_NOT_DELIVERED = {
    "vddk": "export the machine's disk as vmdk, serve it on a web server and import it with spec.source.http",
    "imageio": "download the disk from the engine, and send it with spec.source.upload",
    "gcs": "use a signed https:// address of the object with spec.source.http",
}


class Operation(StrEnum):
    """What is done to fill a volume; the first word of CDI's phases and events about it."""

    IMPORT = "Import"
    UPLOAD = "Upload"
    CLONE = "Clone"


_RESOURCES = {
    Operation.IMPORT: (IMPORT_SOURCES, names.IMPORT_SOURCE_PREFIX),
    Operation.UPLOAD: (UPLOAD_SOURCES, names.UPLOAD_SOURCE_PREFIX),
    Operation.CLONE: (CLONE_SOURCES, names.CLONE_SOURCE_PREFIX),
}


def resolve(volume: Object, data_sources: Cache) -> Object | None:
    """The source, of one field such as `http`; a sourceRef is followed to the pvc or snapshot behind it.

    None for a volume whose claim says itself who fills it. Raises VolumeFault where a link leads nowhere, and for
    sources that are not delivered.
    """
    spec = volume["spec"]
    if "sourceRef" in spec:
        return _followed(spec["sourceRef"], namespace_of(volume), data_sources)
    source: Object | None = spec.get("source")
    if source:
        _check_delivered(source)
    return source


def _check_delivered(source: Object) -> None:
    if why := not_delivered(source):
        raise VolumeFault(NOT_DELIVERED, f"{why}. This is final: make another DataVolume", final=True)


def not_delivered(source: Object) -> str:
    """Why nothing can be had from a source, whatever is done, and what would do; "" for all others."""
    field, cure = next(((each, _NOT_DELIVERED[each]) for each in source if each in _NOT_DELIVERED), ("", ""))
    registry = source.get("registry", {})
    if "imageStream" in registry:
        field, cure = "registry.imageStream", "say the image itself in spec.source.registry.url"
    if registry.get("url", "").startswith("oci-archive:"):
        field = "registry.url: oci-archive://"
        cure = "an archive of the node is not in reach of a pod; push it to a registry, and name that with docker://"
    return f"spec.source.{field} is not delivered by Ingot: {cure}" if field else ""


def _followed(reference: Object, namespace: str, data_sources: Cache) -> Object:
    key = Key(reference.get("namespace") or namespace, reference["name"])
    for _ in range(LINKS):
        found = data_sources.get(key)
        if found is None:
            raise _astray(key, "is not there", "it is")
        source = found["spec"]["source"]
        if not source:
            raise _astray(key, "points to nothing: spec.source is empty", "it points to a pvc or snapshot")
        if "dataSource" not in source:
            return dict(source)
        ahead = Key(source["dataSource"]["namespace"], source["dataSource"]["name"])
        if ahead.namespace != key.namespace:
            raise _astray(key, f'follows DataSource "{ahead}" of another namespace', "it follows one of its own")
        key = ahead
    raise _astray(key, f"is one DataSource too many: at most {LINKS} are followed", "the links are shorter")


def _astray(key: Key, why: str, until: str) -> VolumeFault:
    message = f'spec.sourceRef: DataSource "{key}" {why}; the volume is filled once {until}'
    return VolumeFault("DataSourceNotReady", message)


def links(volume: Object, data_sources: Cache) -> Iterable[Key]:
    """The DataSources that a volume hangs on, as far as they are there."""
    reference = volume["spec"].get("sourceRef")
    for _ in range(LINKS):
        if not reference:
            return
        key = Key(reference.get("namespace") or namespace_of(volume), reference["name"])
        yield key
        reference = ((data_sources.get(key) or {}).get("spec") or {}).get("source", {}).get("dataSource")


def operation_of(source: Object) -> Operation:
    """What is done with a source."""
    if "upload" in source:
        return Operation.UPLOAD
    return Operation.CLONE if source.keys() & {"pvc", "snapshot"} else Operation.IMPORT


def origin_of(source: Object) -> tuple[Resource, Key] | None:
    """The kind and key of what is cloned; None for sources that are not cloned."""
    for field, resource in (("pvc", VOLUME_CLAIMS), ("snapshot", SNAPSHOTS)):
        if field in source:
            return resource, Key(source[field]["namespace"], source[field]["name"])
    return None


def elsewhere_of(volume: Object, data_sources: Cache) -> Object | None:
    """What is cloned out of another namespace, as `status.origin` has it; None where nothing is, or nobody can tell."""
    try:
        origin = origin_of(resolve(volume, data_sources) or {})
    except VolumeFault:
        return None
    if origin is None or origin[1].namespace == namespace_of(volume):
        return None
    kind, key = origin
    return {"kind": kind.kind, "namespace": key.namespace, "name": key.name}


def is_elsewhere(volume: Object, data_sources: Cache) -> bool:
    """Whether the content comes out of another namespace, or may: where a DataSource leads nowhere, nobody knows."""
    try:
        origin = origin_of(resolve(volume, data_sources) or {})
    except VolumeFault:
        return True
    return origin is not None and origin[1].namespace != namespace_of(volume)


def populator_of(claim: Object) -> Operation | None:
    """What one of our populators does to fill the claim; None where another does, or nobody."""
    reference = claim["spec"].get("dataSourceRef") or {}
    if reference.get("apiGroup") != names.GROUP:
        return None
    kinds = {resource.kind: operation for operation, (resource, _) in _RESOURCES.items()}
    return kinds.get(reference.get("kind", ""))


def is_made_again(claim: Object) -> bool:
    """Whether what the claim is filled from is a DataVolume's own, which makes it again wherever it is gone."""
    operation, owner = populator_of(claim), controller_of(claim) or {}
    if operation is None or owner.get("kind") != DATA_VOLUMES.kind:
        return False
    _, prefix = _RESOURCES[operation]
    return bool(claim["spec"]["dataSourceRef"]["name"] == f"{prefix}{owner['uid']}")


def reference_to(volume: Object, operation: Operation) -> Object:
    """The `dataSourceRef` of the claim that is filled so for the volume."""
    resource, prefix = _RESOURCES[operation]
    return {"apiGroup": names.GROUP, "kind": resource.kind, "name": f"{prefix}{uid_of(volume)}"}


def resource_of(operation: Operation) -> Resource:
    """The kind that tells a populator what to do."""
    return _RESOURCES[operation][0]


def render(volume: Object, source: Object) -> Object:
    """The Volume*Source of a volume, controlled by it. Of a clone, the source may be in another namespace."""
    operation = operation_of(source)
    resource, spec = resource_of(operation), volume["spec"]
    passed_on = ["preallocation"] if operation is Operation.CLONE else ["preallocation", "contentType"]
    made: Object = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": reference_to(volume, operation)["name"],
            "namespace": namespace_of(volume),
            "labels": dict(names.APP_LABELS),
        },
        "spec": {field: spec[field] for field in passed_on if field in spec},
    }
    if operation is Operation.IMPORT:
        made["spec"]["source"] = copy_of(source)
    elif origin := origin_of(source):
        _render_origin(made, *origin)
        if spec.get("priorityClassName"):
            made["spec"]["priorityClassName"] = spec["priorityClassName"]
    set_controller_reference(made, volume)
    return made


def _render_origin(made: Object, kind: Resource, origin: Key) -> None:
    group = {"apiGroup": kind.group} if kind.group else {}
    made["spec"]["source"] = {**group, "kind": kind.kind, "name": origin.name}
    if origin.namespace != namespace_of(made):
        made["metadata"]["annotations"] = {names.SOURCE_NAMESPACE: origin.namespace}
