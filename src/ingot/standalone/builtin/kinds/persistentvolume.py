"""PersistentVolume."""

import posixpath
from datetime import UTC, datetime

from ingot.api.object import Object, name_of
from ingot.api.quantity import Quantity
from ingot.api.status import Cause
from ingot.standalone import fields, times
from ingot.standalone.builtin import names, resources, schemas, selectors
from ingot.standalone.builtin.kinds import sources
from ingot.standalone.builtin.kinds.claim import (
    ATTRIBUTES_CLASS,
    VOLUME_MODE,
    VOLUME_MODES,
    access_modes,
    class_of,
    phase_of,
    short_modes,
)
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

SCHEMA = "io.k8s.api.core.v1.PersistentVolume"
RECLAIM = ("Delete", "Recycle", "Retain")
_NOT_SOURCES = frozenset({"claimRef", "nodeAffinity"})
_LONG_NAME = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)


def source_kinds(schema: Object) -> tuple[str, ...]:
    """The fields of a schema that are structures: the kinds of source there are."""
    properties = schema["properties"].items()
    found = (key for key, child in properties if "properties" in child and key not in _NOT_SOURCES)
    return tuple(sorted(found))


SOURCES = source_kinds(schemas.resolved("io.k8s.api.core.v1.PersistentVolumeSpec"))


def default(obj: Object) -> None:
    spec, status = obj["spec"], obj["status"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    sources.default(spec)
    if not status:
        status["lastPhaseTransitionTime"] = times.written(datetime.now(UTC))
    status.setdefault("phase", "Pending")


def note_phase(new: Object, old: Object) -> None:
    """Dates a change of phase, unless the writer has done so."""
    status, before = new["status"], old["status"]
    if status.get("phase") == before.get("phase"):
        if before.get("lastPhaseTransitionTime"):
            status.setdefault("lastPhaseTransitionTime", before["lastPhaseTransitionTime"])
    elif status.get("lastPhaseTransitionTime") in (None, before.get("lastPhaseTransitionTime")):
        status["lastPhaseTransitionTime"] = times.written(datetime.now(UTC))


def validate(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    modes = spec.get("accessModes") or []
    causes = [] if modes else [fields.required("spec.accessModes")]
    causes += access_modes("spec.accessModes", modes) + _capacity(spec)
    if spec["persistentVolumeReclaimPolicy"] not in RECLAIM:
        causes.append(
            fields.not_supported("spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"], RECLAIM)
        )
    causes += _affinity(spec) + _source(new)
    if name := spec.get("storageClassName"):
        causes += fields.checked("spec.storageClassName", name, names.subdomain)
    if spec["volumeMode"] not in VOLUME_MODES:
        causes.append(fields.not_supported("spec.volumeMode", spec["volumeMode"], VOLUME_MODES))
    return causes + (_changes(spec, old["spec"]) if old else [])


def _capacity(spec: Object) -> list[Cause]:
    capacity = spec.get("capacity") or {}
    causes = [] if capacity else [fields.required("spec.capacity")]
    if list(capacity) != ["storage"]:
        given = ", ".join(sorted(capacity)) or None
        causes.append(fields.not_supported("spec.capacity", given, ["storage"]))
    for name, value in capacity.items():
        path, whole = f"spec.capacity[{name}]", Quantity.parse(value).whole
        if whole < 0:
            causes.append(fields.invalid(path, whole, "must be a valid resource quantity"))
        causes += resources.positive(path, value)
    return causes


def _affinity(spec: Object) -> list[Cause]:
    if "nodeAffinity" not in spec:
        return []
    required = spec["nodeAffinity"].get("required")
    if required is None:
        return [fields.required("spec.nodeAffinity.required", "must specify required node constraints")]
    return selectors.node_selector("spec.nodeAffinity.required", required)


def _source(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    given = [kind for kind in SOURCES if kind in spec]
    if not given:
        return [fields.required("spec", "must specify a volume type")]
    causes = sources.validate("spec", given[0], spec[given[0]])
    causes += [fields.forbidden(f"spec.{kind}", sources.MORE_THAN_ONE) for kind in given[1:]]
    if "local" in spec and "nodeAffinity" not in spec:
        causes.append(fields.required("spec.nodeAffinity", "Local volume requires node affinity"))
    portal = nested(spec, "iscsi", "targetPortal") or ""
    if "initiatorName" in spec.get("iscsi", {}) and len(f"{name_of(obj)}:{portal}") > 64:
        causes.append(fields.invalid("spec.iscsi.targetportal", portal, _LONG_NAME))
    root = posixpath.normpath(nested(spec, "hostPath", "path") or ".") == "/"
    if root and spec["persistentVolumeReclaimPolicy"] == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        causes.append(fields.forbidden("spec.persistentVolumeReclaimPolicy", why))
    return causes


def _changes(spec: Object, old: Object) -> list[Cause]:
    causes = []
    changed = [kind for kind in SOURCES if spec.get(kind) != old.get(kind)]
    if changed:
        why = "spec.persistentvolumesource is immutable after creation\nchanged: "
        causes.append(fields.forbidden("spec.persistentvolumesource", why + ", ".join(changed)))
    if spec["volumeMode"] != old.get("volumeMode"):
        causes.append(fields.immutable("volumeMode", spec["volumeMode"]))
    if "nodeAffinity" in old and spec.get("nodeAffinity") != old["nodeAffinity"]:
        causes.append(fields.immutable("nodeAffinity", "nodeAffinity"))
    return causes


def _claim(obj: Object) -> str:
    claim = obj["spec"].get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


VOLUME = define(
    SCHEMA,
    "persistentvolumes",
    namespaced=False,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column(
            "Capacity", lambda obj: nested(obj, "spec", "capacity", "storage") or "0", description="How large it is."
        ),
        Column(
            "Access Modes",
            lambda obj: short_modes(obj["spec"].get("accessModes")),
            description="How it may be used.",
        ),
        Column(
            "Reclaim Policy",
            lambda obj: obj["spec"]["persistentVolumeReclaimPolicy"],
            description="What becomes of it when it is released.",
        ),
        Column("Status", phase_of, description="Available, Bound, Released or Failed."),
        Column("Claim", _claim, description="Whose it is."),
        Column("StorageClass", class_of, description="Its class."),
        ATTRIBUTES_CLASS,
        Column("Reason", lambda obj: nested(obj, "status", "reason") or "", description="Why it failed."),
        AGE,
        VOLUME_MODE,
    ),
    short_names=("pv",),
    subresources=frozenset({"status"}),
    returns_deleted=True,
)
