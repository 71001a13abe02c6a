"""ConfigMap."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

SIZE_LIMIT = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"


def decoded_size(text: str) -> int:
    """How many bytes a base64 text stands for."""
    return len(text.rstrip("=")) * 3 // 4


def frozen(new: Object, old: Object, *keys: str) -> list[Cause]:
    """What an update may not do to an object that said that it is immutable."""
    if not old.get("immutable"):
        return []
    causes = [] if new.get("immutable") else [fields.forbidden("immutable", FROZEN)]
    changed = [key for key in keys if (new.get(key) or {}) != (old.get(key) or {})]
    return causes + [fields.forbidden(key, FROZEN) for key in changed]


def validate(new: Object, old: Object | None) -> list[Cause]:
    causes = frozen(new, old, "data", "binaryData") if old else []
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        causes += fields.checked(f"data[{key}]", key, names.config_key)
        if key in binary:
            causes.append(fields.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value.encode())
    for key, value in binary.items():
        causes += fields.checked(f"binaryData[{key}]", key, names.config_key)
        size += decoded_size(value)
    if size > SIZE_LIMIT:
        # Kubernetes writes the path of the whole object so.
        causes.append(fields.too_long("[]", SIZE_LIMIT))
    return causes


def _count(obj: Object) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


CONFIG_MAP = define(
    "io.k8s.api.core.v1.ConfigMap",
    "configmaps",
    namespaced=True,
    validate=validate,
    columns=(NAME, Column("Data", _count, description="How many keys it has."), AGE),
    short_names=("cm",),
)
