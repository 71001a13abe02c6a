"""Instances made from the template of a machine or a replica set."""

import hashlib
from uuid import UUID, uuid5

import msgspec

from ingot.api.kubevirt.names import INSTANCE_FINALIZER, MACHINE_GENERATION, TEMPLATE_DIGEST
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES
from ingot.control.fault import InstanceFault
from ingot.kube.objects import copy_of, set_controller_reference

# The system UUIDs of guests are made from this and their machine's uid: a guest keeps its own from start to start.
_FIRMWARE = UUID("6a1f4d1e-2f6b-5c0a-9d4e-3b7c8e5f1a20")


def from_template(owner: Object) -> Object:
    """An instance without a name, in the owner's namespace, controlled by it, as its `spec.template` says."""
    template = owner["spec"]["template"]
    given = template.get("metadata") or {}
    instance: Object = {
        "apiVersion": INSTANCES.api_version,
        "kind": INSTANCES.kind,
        "metadata": {
            "namespace": namespace_of(owner),
            "labels": dict(given.get("labels") or {}),
            "annotations": dict(given.get("annotations") or {}),
            # It would get it anyway, with one more write.
            "finalizers": [INSTANCE_FINALIZER],
        },
        "spec": copy_of(template["spec"]),
    }
    set_controller_reference(instance, owner)
    return instance


def instance_of(machine: Object, start: Object | None = None) -> Object:
    """The instance of a machine; `start` are the details of the request that it is started by."""
    instance = from_template(machine)
    metadata, spec = instance["metadata"], instance["spec"]
    metadata["name"] = name_of(machine)
    metadata["annotations"][MACHINE_GENERATION] = str(machine["metadata"]["generation"])
    metadata["annotations"][TEMPLATE_DIGEST] = digest(machine)
    firmware = spec["domain"].setdefault("firmware", {})
    firmware.setdefault("uuid", str(uuid5(_FIRMWARE, uid_of(machine))))
    if (start or {}).get("paused") == "true":
        spec["startStrategy"] = "Paused"
    return instance


def check_matchers(machine: Object) -> None:
    """Raises InstanceFault for a machine that leaves its hardware to an instance type or a preference."""
    for field in ("instancetype", "preference"):
        if machine["spec"].get(field):
            message = (
                f"spec.{field} is not followed by this version of Ingot: say CPUs, memory and devices in "
                "spec.template, and the machine starts"
            )
            raise InstanceFault("InstancetypeNotSupported", message)


def digest(machine: Object) -> str:
    """What tells one template from another. Labels and annotations of a running instance may differ."""
    encoded = msgspec.json.encode(machine["spec"]["template"]["spec"], order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:16]


def is_outdated(machine: Object, instance: Object) -> bool:
    """Whether the template was changed after the instance was made from it."""
    made_from = (instance["metadata"].get("annotations") or {}).get(TEMPLATE_DIGEST)
    return made_from is not None and made_from != digest(machine)


def observed_generation(machine: Object, instance: Object) -> int | None:
    """The generation of the machine that its instance is as of."""
    if not is_outdated(machine, instance):
        return int(machine["metadata"]["generation"])
    made_at = (instance["metadata"].get("annotations") or {}).get(MACHINE_GENERATION)
    return int(made_at) if made_at else None
