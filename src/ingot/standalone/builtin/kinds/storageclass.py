"""StorageClass."""

from ingot.api.object import Object, name_of
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column

PARAMETERS_LIMIT = 256 * 1024
MOST_PARAMETERS = 512
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def is_default(obj: Object) -> bool:
    """Whether claims that name no class get this one."""
    annotations = obj["metadata"].get("annotations") or {}
    return any(annotations.get(key) == "true" for key in _DEFAULT)


def default(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def validate(new: Object, old: Object | None) -> list[Cause]:
    if old is not None:
        return _changes(new, old)
    causes = fields.named("provisioner", new.get("provisioner", "").lower(), names.qualified)
    causes += _parameters(new.get("parameters") or {})
    policy = new["reclaimPolicy"]
    if policy and policy not in ("Delete", "Retain"):
        causes.append(fields.not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
    modes = ("Immediate", "WaitForFirstConsumer")
    if new["volumeBindingMode"] not in modes:
        causes.append(fields.not_supported("volumeBindingMode", new["volumeBindingMode"], modes))
    return causes


def _parameters(parameters: dict[str, str]) -> list[Cause]:
    if len(parameters) > MOST_PARAMETERS:
        return [fields.too_long("parameters", MOST_PARAMETERS)]
    causes = [fields.invalid("parameters", "", "field can not be empty.")] if "" in parameters else []
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > PARAMETERS_LIMIT:
        causes.append(fields.too_long("parameters", PARAMETERS_LIMIT))
    return causes


def _changes(new: Object, old: Object) -> list[Cause]:
    causes = [
        fields.forbidden(key, f"updates to {key} are forbidden.")
        for key in ("parameters", "provisioner", "reclaimPolicy")
        if new.get(key) != old.get(key)
    ]
    if new["volumeBindingMode"] != old["volumeBindingMode"]:
        causes.append(fields.immutable("volumeBindingMode", new["volumeBindingMode"]))
    return causes


def _name(obj: Object) -> str:
    return name_of(obj) + (" (default)" if is_default(obj) else "")


STORAGE_CLASS = define(
    "io.k8s.api.storage.v1.StorageClass",
    "storageclasses",
    namespaced=False,
    default=default,
    validate=validate,
    columns=(
        Column("Name", _name, format="name", description="The class's name; one of them is the default."),
        Column("Provisioner", lambda obj: obj.get("provisioner", ""), description="Who makes the volumes."),
        Column(
            "ReclaimPolicy",
            lambda obj: obj.get("reclaimPolicy", "Delete"),
            description="What becomes of a volume that is released.",
        ),
        Column(
            "VolumeBindingMode",
            lambda obj: obj.get("volumeBindingMode", "Immediate"),
            description="Whether volumes wait for a pod.",
        ),
        Column(
            "AllowVolumeExpansion",
            lambda obj: obj.get("allowVolumeExpansion", False),
            description="Whether claims may grow.",
        ),
        AGE,
    ),
    short_names=("sc",),
    returns_deleted=True,
)
