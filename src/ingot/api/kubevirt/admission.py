"""What KubeVirt fills in when an instance is created, as a schema cannot: devices that follow from other fields."""

from ingot.api.kubevirt.parts import as_object, objects
from ingot.api.object import Object

# Volumes that reach the guest in another way than a disk of their own.
_NO_DISK = frozenset({"memoryDump", "downwardMetrics"})


def instance(obj: Object, old: Object | None, _operation: str) -> None:
    """A new VirtualMachineInstance or VM: a disk for each volume that no device uses, and a network card."""
    spec = as_object(obj.get("spec"))
    devices = as_object(spec.get("domain")).get("devices")
    if old is None and isinstance(devices, dict):
        _disks(spec, devices)
        _network(spec, devices)


def _disks(spec: Object, devices: Object) -> None:
    disks = devices.get("disks", [])
    if not isinstance(disks, list):
        return
    used = [device.get("name") for device in objects(disks) + objects(devices.get("filesystems"))]
    missing = [
        {"name": volume["name"]}
        for volume in objects(spec.get("volumes"))
        if "name" in volume and volume["name"] not in used and not _NO_DISK & volume.keys()
    ]
    if missing:
        devices["disks"] = [*disks, *missing]


def _network(spec: Object, devices: Object) -> None:
    if devices.get("autoattachPodInterface") is False or devices.get("interfaces") or spec.get("networks"):
        return
    devices["interfaces"] = [{"name": "default", "masquerade": {}}]
    spec["networks"] = [{"name": "default", "pod": {}}]
