"""What an API server does to one of our objects between the wire and the store, with the server's own schemas.

The servers themselves are tested in tests/wire; this is for the kinds alone.
"""

from functools import cache
from typing import Any

from ingot.api import registry
from ingot.api.machinery.crd import crd_of
from ingot.api.object import Object, split_api_version
from ingot.standalone.schema.schema import Schema

V1 = "kubevirt.io/v1"
ALPHA = "kubevirt.io/v1alpha1"


def made(kind: str, spec: Object, api_version: str = V1, **fields: Any) -> Object:
    """An object with a name and a namespace."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "it", "namespace": "here"},
        "spec": spec,
        **fields,
    }


def instance(*volumes: Object, api_version: str = V1, disks: list[Object] | None = None, **spec: Any) -> Object:
    """A VirtualMachineInstance with these volumes and, unless told, a disk for each."""
    disks = [{"name": volume["name"]} for volume in volumes] if disks is None else disks
    devices = {"disks": disks, "autoattachPodInterface": False}
    return made(
        "VirtualMachineInstance", {"domain": {"devices": devices}, "volumes": list(volumes), **spec}, api_version
    )


@cache
def schema(api_version: str, kind: str) -> Schema:
    group, version = split_api_version(api_version)
    info = registry.find(group, kind)
    assert info is not None, f"{kind} of {group} is not ours"
    served = next(each for each in crd_of(info)["spec"]["versions"] if each["name"] == version)
    return Schema(served["schema"]["openAPIV3Schema"])


def judge(asked: Object, old: Object | None = None) -> tuple[Object, list[str]]:
    """The object as it is stored, and its faults, each as `path: message`."""
    rules = schema(asked["apiVersion"], asked["kind"])
    obj: Object = registry.copy_json(asked)
    faults = [f"{path}: unknown field" for path in rules.unknown(obj)]
    rules.default(obj)
    obj = registry.admit(obj, old, "CREATE" if old is None else "UPDATE")
    faults += [str(cause) for cause in rules.validate(obj)]
    faults = faults or [str(cause) for cause in rules.validate_rules(obj, old)]
    faults = faults or [str(cause) for cause in registry.validate(obj, old)]
    info = registry.find(split_api_version(obj["apiVersion"])[0], obj["kind"])
    assert info is not None
    return registry.convert(obj, info.stored.name), faults


def stored(asked: Object, old: Object | None = None) -> Object:
    """The object as it is stored; a fault fails the test. It is also valid and unchanged as a stored object."""
    kept, faults = judge(asked, old)
    assert faults == []
    again, faults = judge(kept, kept)
    assert faults == []
    assert again == kept
    return kept


def refusal(asked: Object, old: Object | None = None) -> str:
    """Every fault of an object that is to be refused."""
    _, faults = judge(asked, old)
    assert faults, "it was accepted"
    return "\n".join(faults)
