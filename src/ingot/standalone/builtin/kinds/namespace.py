"""Namespace."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import meta, names
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

NAME_LABEL = "kubernetes.io/metadata.name"


def default(obj: Object) -> None:
    metadata = obj["metadata"]
    if name := metadata.get("name"):
        metadata.setdefault("labels", {})[NAME_LABEL] = name
    obj["status"].setdefault("phase", "Terminating" if metadata.get("deletionTimestamp") else "Active")


def validate(new: Object, old: Object | None) -> list[Cause]:
    causes = []
    for name in new["spec"].get("finalizers") or ():
        causes += fields.checked("spec.finalizers", name, names.qualified)
        causes += meta.standard_finalizer("spec.finalizers", name)
    return causes


NAMESPACE = define(
    "io.k8s.api.core.v1.Namespace",
    "namespaces",
    namespaced=False,
    name_rule=names.label,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Status", lambda obj: obj["status"].get("phase", ""), description="Active or Terminating."),
        AGE,
    ),
    short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources=frozenset({"status", "finalize"}),
    selectable=("status.phase",),
    returns_deleted=True,
)
