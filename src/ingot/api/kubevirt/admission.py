"""What KubeVirt fills in when an instance is created, as a schema cannot: devices that follow from other fields."""

from ingot.api.object import Object

# Volumes that reach the guest in another way than a disk of their own.
_NO_DISK = frozenset({"memoryDump", "downwardMetrics"})


def instance(obj: Object, old: Object | None, operation: str) -> None:
    """A new VirtualMachineInstance or VM: a disk for each volume that no device uses, and a network card."""
    if operation != "CREATE" or old is not None:
        return
    spec = obj.get("spec") or {}
    devices = (spec.get("domain") or {}).get("devices")
    if isinstance(devices, dict):
        _disks(spec, devices)
        _network(spec, devices)


def _disks(spec: Object, devices: Object) -> None:
    used = {device["name"] for key in ("disks", "filesystems") for device in devices.get(key) or ()}
    missing = [
        {"name": volume["name"]}
        for volume in spec.get("volumes") or ()
        if volume["name"] not in used and not _NO_DISK & volume.keys()
    ]
    if missing:
        devices["disks"] = [*(devices.get("disks") or ()), *missing]


def _network(spec: Object, devices: Object) -> None:
    if devices.get("autoattachPodInterface") is False or devices.get("interfaces") or spec.get("networks"):
        return
    devices["interfaces"] = [{"name": "default", "masquerade": {}}]
    spec["networks"] = [{"name": "default", "pod": {}}]
