"""The schemas of Kubernetes' own kinds, by their full names, such as `io.k8s.api.core.v1.Pod`.

They come from `definitions.json`, which the build makes. There are two views of it: `raw` is the text, with its
descriptions, for the OpenAPI documents; `resolved` is what the server works with, without descriptions.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from ingot.api.object import Object

REFERENCE = "#/components/schemas/"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"

# Fields that kube-apiserver publishes a default for. The published schemas that definitions.json is made from
# leave them out; server-side apply needs those of list keys to tell two items apart.
DEFAULTS: dict[str, dict[str, Any]] = {
    **{
        f"io.k8s.api.core.v1.{name}": {"name": ""}
        for name in (
            "ConfigMapEnvSource",
            "ConfigMapKeySelector",
            "ConfigMapProjection",
            "ConfigMapVolumeSource",
            "LocalObjectReference",
            "SecretEnvSource",
            "SecretKeySelector",
            "SecretProjection",
        )
    },
    "io.k8s.api.core.v1.AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "kind": "Shared",
        "readOnly": False,
    },
    "io.k8s.api.core.v1.GRPCAction": {"service": ""},
    "io.k8s.api.core.v1.ContainerPort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "io.k8s.api.core.v1.ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "io.k8s.api.core.v1.RBDVolumeSource": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "io.k8s.api.core.v1.RBDPersistentVolumeSource": {
        "pool": "rbd",
        "user": "admin",
        "keyring": "/etc/ceph/keyring",
    },
    "io.k8s.api.core.v1.ScaleIOVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "io.k8s.api.core.v1.ScaleIOPersistentVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}

_REFERRED = re.compile(rb'"\$ref":"#/components/schemas/([^"]+)"')


@cache
def _texts() -> dict[str, msgspec.Raw]:
    data = resources.files(__package__).joinpath("definitions.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, msgspec.Raw])


def names() -> list[str]:
    """Every schema there is."""
    return list(_texts())


def raw(name: str) -> msgspec.Raw:
    """The schema as JSON text with descriptions and `$ref`s; KeyError when there is none of that name."""
    return _texts()[name]


def closure(roots: Iterable[str]) -> list[str]:
    """The names given and those of every schema that they reach, sorted."""
    found: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(match.decode() for match in _REFERRED.findall(bytes(raw(name))))
    return sorted(found)


_resolved: dict[str, Object] = {}
# By identity: dictionaries cannot be keys, and those in _resolved live for ever.
_name_by_id: dict[int, str] = {}


def resolved(name: str) -> Object:
    """The schema with every `$ref` replaced by the dictionary that it names: shared, so possibly cyclic.

    The same name always gives the same dictionary. Treat it as read-only.
    """
    if name not in _resolved:
        # Entered before it is filled: a schema that refers to itself then finds itself.
        made = _resolved[name] = {}
        _name_by_id[id(made)] = name
        made.update(_resolve(msgspec.json.decode(raw(name))))
        for field, default in DEFAULTS.get(name, {}).items():
            made["properties"][field]["default"] = default
    return _resolved[name]


def name_of(schema: Object) -> str:
    """The name that a dictionary out of a resolved schema has, or "" for one that is written in place."""
    return _name_by_id.get(id(schema), "")


def _resolve(schema: Object) -> Object:
    """A copy of one schema without descriptions and without references."""
    if "$ref" in schema:
        target = resolved(schema["$ref"].removeprefix(REFERENCE))
        beside = {key: value for key, value in schema.items() if key not in ("$ref", "description")}
        return _variant(target, beside) if beside else target
    made: Object = {key: value for key, value in schema.items() if key != "description"}
    if "properties" in schema:
        made["properties"] = {field: _resolve(child) for field, child in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _resolve(schema[key])
    return made


def _variant(target: Object, beside: Object) -> Object:
    """A named schema with other keys beside it; it keeps the name."""
    made = {**target, **beside}
    _name_by_id[id(made)] = name_of(target)
    return made
