"""Secret."""

import base64

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.kinds.configmap import SIZE_LIMIT, decoded_size, frozen
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.objects.gojson import syntax_error
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
# By the first character of a text.
_JSON_TYPES = {"[": "array", '"': "string", "t": "bool", "f": "bool"}


def default(obj: Object) -> None:
    """`stringData` is for writing only: it becomes `data`."""
    obj.setdefault("type", "Opaque")
    for key, text in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()


def validate(new: Object, old: Object | None) -> list[Cause]:
    causes = []
    if old is not None:
        if new.get("type") != old.get("type"):
            causes.append(fields.immutable("type", new.get("type", "")))
        causes += frozen(new, old, "data")
    data = new.get("data") or {}
    for key in data:
        causes += fields.checked(f"data[{key}]", key, names.config_key)
    if sum(decoded_size(value) for value in data.values()) > SIZE_LIMIT:
        causes.append(fields.too_long("data", SIZE_LIMIT))
    return causes + _by_type(new, data)


def _by_type(obj: Object, data: dict[str, str]) -> list[Cause]:
    """What the well-known types ask for."""
    kind = obj.get("type")
    if kind == "kubernetes.io/service-account-token":
        annotations = obj["metadata"].get("annotations") or {}
        return [] if annotations.get(_ACCOUNT) else [fields.required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind == "kubernetes.io/tls":
        return [fields.required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    if kind == "kubernetes.io/ssh-auth":
        return [] if data.get("ssh-privatekey") else [fields.required("data[ssh-privatekey]")]
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        return [fields.required("data[username]"), fields.required("data[password]")]
    if kind in _DOCKER:
        return _docker(_DOCKER[kind], data)
    return []


def _docker(key: str, data: dict[str, str]) -> list[Cause]:
    if key not in data:
        return [fields.required(f"data[{key}]")]
    text = base64.b64decode(data[key])
    fault = syntax_error(text)
    if not fault:
        first = text.lstrip()[:1].decode()
        if first in "{n":
            return []
        found = _JSON_TYPES.get(first, "number")
        fault = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    return [fields.invalid(f"data[{key}]", "<secret contents redacted>", fault)]


SECRET = define(
    "io.k8s.api.core.v1.Secret",
    "secrets",
    namespaced=True,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Type", lambda obj: obj.get("type", ""), description="What the data is for."),
        Column("Data", lambda obj: len(obj.get("data") or ()), description="How many keys it has."),
        AGE,
    ),
    selectable=("type",),
)
