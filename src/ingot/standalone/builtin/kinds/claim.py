"""PersistentVolumeClaim."""

from copy import deepcopy

from ingot.api.object import Object
from ingot.api.quantity import Quantity
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names, resources, selectors
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.goprint import Shown
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_SHORT_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_FROZEN = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def default_spec(spec: Object) -> None:
    """Defaults of a claim, and of the template that a pod's ephemeral volume has of one."""
    spec.setdefault("volumeMode", "Filesystem")
    if "dataSourceRef" not in spec and not _is_copyable(spec.get("dataSource") or {}):
        spec.pop("dataSource", None)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    # The older name of the source and the newer one say the same, unless the newer one leaves the namespace.
    if source and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


def _is_copyable(source: Object) -> bool:
    """The older name takes claims and snapshots only; Kubernetes drops anything else from it without a word."""
    kinds = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
    return (source.get("apiGroup") or "", source.get("kind")) in kinds


def default(obj: Object) -> None:
    default_spec(obj["spec"])
    obj["status"].setdefault("phase", "Pending")


def access_modes(field: str, modes: list[str]) -> list[Cause]:
    causes = [fields.not_supported(field, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        causes.append(fields.forbidden(field, "may not use ReadWriteOncePod with other access modes"))
    return causes


def validate_spec(field: str, spec: Object) -> list[Cause]:
    modes = spec.get("accessModes") or []
    causes = [] if modes else [fields.required(f"{field}.accessModes", "at least 1 access mode is required")]
    if "selector" in spec:
        causes += selectors.label_selector(f"{field}.selector", spec["selector"])
    causes += access_modes(f"{field}.accessModes", modes)
    size = nested(spec, "resources", "requests", "storage")
    path = f"{field}.resources[storage]"
    causes += [fields.required(path)] if size is None else resources.positive(path, size)
    if name := spec.get("storageClassName"):
        causes += fields.checked(f"{field}.storageClassName", name, names.subdomain)
    if spec.get("volumeMode", "Block") not in VOLUME_MODES:
        causes.append(fields.not_supported(f"{field}.volumeMode", spec["volumeMode"], VOLUME_MODES))
    for key in ("dataSource", "dataSourceRef"):
        if key in spec:
            causes += _data_source(f"{field}.{key}", spec[key])
    return causes + _sources_agree(field, spec)


def _data_source(field: str, source: Object) -> list[Cause]:
    causes = fields.missing(field, source, "name kind")
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        causes.append(fields.invalid(field, kind, why))
    if group:
        causes += fields.checked(f"{field}.apiGroup", group, names.subdomain)
    if namespace := source.get("namespace"):
        causes += fields.checked(f"{field}.namespace", namespace, names.label)
    return causes


def _sources_agree(field: str, spec: Object) -> list[Cause]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return []
    if reference.get("namespace"):
        why = "may not be specified when dataSourceRef.namespace is specified"
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        why = "must match dataSourceRef"
    else:
        return []
    return [fields.invalid(field, Shown(f"{field}.dataSource"), why)]


def validate(new: Object, old: Object | None) -> list[Cause]:
    causes = validate_spec("spec", new["spec"])
    return causes + (_changes(new, old) if old else [])


def _changes(new: Object, old: Object) -> list[Cause]:
    spec, before = deepcopy(new["spec"]), deepcopy(old["spec"])
    causes = _class_annotation(new, old)
    if not before.get("volumeName"):
        before.pop("volumeName", None)
        spec.pop("volumeName", None)
    if before.get("storageClassName") is None:
        spec.pop("storageClassName", None)
    if nested(new, "status", "phase") == "Bound":
        for each in (spec, before):
            (each["resources"].get("requests") or {}).pop("storage", None)
            each.pop("volumeAttributesClassName", None)
    if spec != before:
        changed = sorted(key for key in spec.keys() | before.keys() if spec.get(key) != before.get(key))
        causes.append(fields.forbidden("spec", f"{_FROZEN}\nchanged: {', '.join(changed)}"))
    causes += _shrinks(new, old)
    if new["spec"].get("volumeMode") != old["spec"].get("volumeMode"):
        causes.append(fields.immutable("volumeMode", new["spec"].get("volumeMode")))
    return causes


def _class_annotation(new: Object, old: Object) -> list[Cause]:
    now = (new["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION, "")
    before = (old["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION, "")
    if now == before:
        return []
    return [fields.immutable(f"metadata.annotations.{CLASS_ANNOTATION}", now)]


def _shrinks(new: Object, old: Object) -> list[Cause]:
    """A claim may grow; it may shrink only back to more than it has, after a growth that failed."""
    path = ("spec", "resources", "requests", "storage")
    asked, before = nested(new, *path), nested(old, *path)
    if asked is None or before is None or Quantity.parse(asked).exact >= Quantity.parse(before).exact:
        return []
    has = nested(old, "status", "capacity", "storage") or "0"
    if Quantity.parse(asked).exact <= Quantity.parse(has).exact:
        return [fields.forbidden(".".join(path), "field can not be less than status.capacity")]
    return []


def short_modes(modes: list[str] | None) -> str:
    """`RWO,ROX`: the access modes as kubectl shows them, always in one order."""
    return ",".join(short for mode, short in _SHORT_MODES.items() if mode in (modes or ()))


def class_of(obj: Object) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(CLASS_ANNOTATION) or obj["spec"].get("storageClassName") or "")


def phase_of(obj: Object) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return nested(obj, "status", "phase") or ""


def _bound(obj: Object, *path: str) -> object:
    """What the status says, once there is a volume."""
    return nested(obj, "status", *path) if obj["spec"].get("volumeName") else None


ATTRIBUTES_CLASS = Column(
    "VolumeAttributesClass",
    lambda obj: obj["spec"].get("volumeAttributesClassName", "<unset>"),
    description="The class of its attributes.",
)
VOLUME_MODE = Column(
    "VolumeMode",
    lambda obj: obj["spec"].get("volumeMode", "<unset>"),
    priority=1,
    description="A filesystem or a block device.",
)
CLAIM = define(
    "io.k8s.api.core.v1.PersistentVolumeClaim",
    "persistentvolumeclaims",
    namespaced=True,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Status", phase_of, description="Pending, Bound, Lost or Terminating."),
        Column("Volume", lambda obj: obj["spec"].get("volumeName", ""), description="The volume that it has."),
        Column(
            "Capacity",
            lambda obj: _bound(obj, "capacity", "storage") or ("0" if obj["spec"].get("volumeName") else ""),
            description="How large the volume is.",
        ),
        Column(
            "Access Modes",
            lambda obj: short_modes(obj["status"].get("accessModes")) if obj["spec"].get("volumeName") else "",
            description="How the volume may be used.",
        ),
        Column("StorageClass", class_of, description="The class of the volume."),
        ATTRIBUTES_CLASS,
        AGE,
        VOLUME_MODE,
    ),
    short_names=("pvc",),
    subresources=frozenset({"status"}),
    returns_deleted=True,
)
