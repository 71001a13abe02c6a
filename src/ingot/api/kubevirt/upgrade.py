"""From the shapes of kubevirt.io/v1alpha1 to the stored ones. Present parts are left alone, so twice is as once."""

from collections.abc import Callable
from typing import Any

from ingot.api.kubevirt.alpha import CLAIM_TYPE, REGISTRY_TYPE, keeps_old_rules
from ingot.api.kubevirt.parts import as_object, objects
from ingot.api.object import Object

# What belongs to a VirtualMachine itself; the rest of an old spec is its instance's.
_MACHINE_FIELDS = frozenset(
    {
        "dataVolumeTemplates",
        "instancetype",
        "preference",
        "runStrategy",
        "running",
        "template",
        "updateVolumesStrategy",
    }
)

_BUS_OF_PREFIX = {"hd": "sata", "sd": "scsi", "vd": "virtio"}


def upgrade_instance(obj: Object) -> None:
    """A VirtualMachineInstance or a VM: each old disk becomes a disk and a volume."""
    upgrade_spec(as_object(obj.get("spec")))


def upgrade_machine(obj: Object) -> None:
    """A VirtualMachine: an instance's spec beside the template moves into it; without one, the machine runs always.

    Both are there when an old manifest is applied again: it is merged into what the first time has made of it.
    """
    spec = as_object(obj.get("spec"))
    if "domain" in spec:
        flat = {name: spec.pop(name) for name in list(spec) if name not in _MACHINE_FIELDS}
        if "template" not in spec and "running" not in spec:
            spec.setdefault("runStrategy", "Always")
        spec["template"] = _merged(spec.get("template"), {"spec": flat})
    upgrade_spec(as_object(as_object(spec.get("template")).get("spec")))


def upgrade_spec(spec: Object) -> None:
    """The spec of an instance: each old disk becomes a disk and a volume of one name, in the disks' order.

    A volume of that name that no present disk uses is the one that this disk had before, and is replaced: an old
    manifest that is applied again changes what it made the first time.
    """
    devices = as_object(as_object(spec.get("domain")).get("devices"))
    disks, volumes = devices.get("disks"), spec.get("volumes") or []
    if not isinstance(disks, list) or not isinstance(volumes, list):
        return
    old = [index for index, disk in enumerate(disks) if keeps_old_rules(disk)]
    present = [disk for index, disk in enumerate(disks) if index not in old]
    taken = {str(device.get("name")) for device in objects(present) + objects(devices.get("filesystems"))}
    made: dict[str, Object] = {}
    for index in old:
        name = _free_name(disks[index], index, taken)
        taken.add(name)
        made[name] = {"name": name, **volume_of(disks[index])}
        disks[index] = {"name": name, **_device_of(disks[index])}
    if made:
        kept = [made.pop(str(as_object(volume).get("name")), volume) for volume in volumes]
        spec["volumes"] = [*kept, *made.values()]


def _merged(below: Any, above: Any) -> Any:
    """A value over another one: objects field by field, all else as a whole."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}
    return above


def volume_of(disk: Object) -> Object:
    """The volume, but for its name, of an old disk: its source, access mode, copy and driver."""
    volume: Object = {}
    access = disk.get("access-mode")
    if access:
        volume["accessMode"] = "read-shared" if access == "read-only" else access
    copy = disk.get("copy")
    if copy:
        volume["copy"] = {new: copy[old] for old, new in (("mode", "mode"), ("usage-type", "usageType")) if old in copy}
    if disk.get("driver"):
        volume["driver"] = disk["driver"]
    source = disk["source"]
    if disk.get("type") == CLAIM_TYPE:
        volume["persistentVolumeClaim"] = {"claimName": source.get("name", "")}
    elif disk.get("type") == REGISTRY_TYPE:
        volume["containerDisk"] = {"image": source.get("name", ""), "standard": "iscsi-v1alpha"}
    else:
        volume.update(source_of(source))
    return volume


def source_of(source: Object) -> Object:
    """A volume's source out of an old one, such as `{"pvc": {"claimname": "c"}}`; a container's answer is one too."""
    beside = {"lun": source["lun"]} if "lun" in source else {}
    return next((_SOURCES[name]({**beside, **source[name]}) for name in source if name in _SOURCES), {})


def _free_name(disk: Object, index: int, taken: set[str]) -> str:
    wanted = disk.get("name") or (disk.get("target") or {}).get("device") or f"disk-{index}"
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return str(name)


def _device_of(disk: Object) -> Object:
    """The disk, but for its name, without what went to the volume."""
    gone = ("name", "type", "source", "target", "driver", "access-mode", "copy")
    device = {key: value for key, value in disk.items() if key not in gone}
    target = disk.get("target") or {}
    bus = target.get("bus") or _BUS_OF_PREFIX.get(target.get("device", "")[:2])
    if bus:
        bus = "sata" if bus == "ide" else bus
        kind = next((kind for kind in ("disk", "cdrom", "lun") if kind in device), "disk")
        device[kind] = {"bus": bus, **(device.get(kind) or {})}
    return device


def _claim(pvc: Object) -> Object:
    return {"persistentVolumeClaim": {"claimName": pvc.get("claimname") or pvc.get("claimName", "")}}


def _portal(host: Object) -> str:
    name = host.get("name", "")
    return f"{name}:{host['port']}" if host.get("port") else name


def _but_host(source: Object) -> Object:
    return {key: value for key, value in source.items() if key != "host"}


def _with_port(source: Object) -> Object:
    host = source.get("host") or {}
    port = {"port": int(host["port"])} if host.get("port") else {}
    return {"host": host.get("name", ""), **port, **_but_host(source)}


def _iscsi(source: Object) -> Object:
    rest = {key: value for key, value in _but_host(source).items() if key != "portal"}
    portal = _portal(source.get("host") or {})
    return {"iscsi": {"targetPortal": portal, "iqn": source.get("portal", ""), **rest}}


_SOURCES: dict[str, Callable[[Object], Object]] = {
    "container": lambda source: {"container": source},
    "gluster": lambda source: {"gluster": _with_port(source)},
    "http": lambda source: {"http": source},
    "iscsi": _iscsi,
    "nbd": lambda source: {"nbd": _with_port(source)},
    "pvc": _claim,
    "rbd": lambda source: {"rbd": {"monitors": [_portal(source.get("host") or {})], **_but_host(source)}},
}
