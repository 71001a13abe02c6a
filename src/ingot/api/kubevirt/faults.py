"""What is wrong with a machine that its schema accepts: names that refer to nothing, addresses that are not any."""

from collections.abc import Iterator

from ingot.api.cdi.faults import volume_faults as data_volume_faults
from ingot.api.kubevirt import uri
from ingot.api.kubevirt.disk_faults import disk_faults
from ingot.api.kubevirt.volume_faults import volume_faults
from ingot.api.object import Object
from ingot.api.status import Cause


def instance(obj: Object, _old: Object | None) -> list[Cause]:
    """The faults of a VirtualMachineInstance or a VM."""
    return list(spec_faults(obj["spec"], "spec"))


def machine(obj: Object, _old: Object | None) -> list[Cause]:
    """The faults of a VirtualMachine: those of its template and of its DataVolumes."""
    spec = obj["spec"]
    found = list(spec_faults(spec["template"]["spec"], "spec.template.spec"))
    for index, template in enumerate(spec.get("dataVolumeTemplates") or ()):
        if not (template.get("metadata") or {}).get("name"):
            field = f"spec.dataVolumeTemplates[{index}].metadata.name"
            found.append(Cause(field, "Required value: a DataVolume needs a name", "FieldValueRequired"))
        found += data_volume_faults(template["spec"], f"spec.dataVolumeTemplates[{index}].spec")
    return found


def replica_set(obj: Object, _old: Object | None) -> list[Cause]:
    """The faults of a replica set: those of its template, and a selector that does not fit the template's labels."""
    spec = obj["spec"]
    found = list(spec_faults(spec["template"]["spec"], "spec.template.spec"))
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    selector = spec["selector"]
    wanted = selector.get("matchLabels") or {}
    if not wanted and not selector.get("matchExpressions"):
        found.append(Cause("spec.selector", "Required value: it would select every instance", "FieldValueRequired"))
    for key, value in wanted.items():
        if labels.get(key) != value:
            why = f"`selector` does not match template `labels`: {key}={value} is missing there"
            found.append(_invalid("spec.template.metadata.labels", labels, why))
    return found


def spec_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of an instance's spec that is found at `path`."""
    devices = spec["domain"]["devices"]
    yield from _disk_names(spec, devices, f"{path}.domain.devices.disks")
    yield from _unmatched_networks(spec, devices, path)
    yield from _boot_orders(devices, f"{path}.domain.devices")
    volumes, disks = spec.get("volumes") or [], devices.get("disks") or []
    yield from disk_faults(disks, volumes, f"{path}.domain.devices.disks")
    yield from volume_faults(volumes, disks, f"{path}.volumes")
    for index, volume in enumerate(volumes):
        yield from _addresses(volume, f"{path}.volumes[{index}]")


def _disk_names(spec: Object, devices: Object, path: str) -> Iterator[Cause]:
    volumes = {volume["name"] for volume in spec.get("volumes") or ()}
    seen = set()
    for index, disk in enumerate(devices.get("disks") or ()):
        if disk["name"] in seen:
            # The schema of v1alpha1 cannot tell disks apart by a name that they need not have.
            yield Cause(f"{path}[{index}].name", f'Duplicate value: "{disk["name"]}"', "FieldValueDuplicate")
        seen.add(disk["name"])
        # A CD-ROM drive may be empty.
        if disk["name"] not in volumes and "cdrom" not in disk:
            known = ", ".join(sorted(volumes)) or "there are none"
            yield _invalid(f"{path}[{index}].name", disk["name"], f"no volume has this name ({known})")


def _unmatched_networks(spec: Object, devices: Object, path: str) -> Iterator[Cause]:
    networks = [network["name"] for network in spec.get("networks") or ()]
    interfaces = [interface["name"] for interface in devices.get("interfaces") or ()]
    for index, name in enumerate(interfaces):
        if name not in networks:
            yield _invalid(f"{path}.domain.devices.interfaces[{index}].name", name, "no network has this name")
    for index, name in enumerate(networks):
        if name not in interfaces:
            yield _invalid(f"{path}.networks[{index}].name", name, "no interface has this name")


def _boot_orders(devices: Object, path: str) -> Iterator[Cause]:
    first: dict[int, str] = {}
    for key in ("disks", "interfaces"):
        for index, device in enumerate(devices.get(key) or ()):
            order = device.get("bootOrder")
            field = f"{path}.{key}[{index}].bootOrder"
            if order is not None and first.setdefault(order, field) != field:
                yield _invalid(field, order, f"{first[order]} has the same")


def _addresses(volume: Object, path: str) -> Iterator[Cause]:
    for key, name in (("networkVolume", "uri"), ("http", "url")):
        if key in volume:
            yield from _fault_of(f"{path}.{key}.{name}", volume[key][name])
    if "iscsi" in volume:
        portal = volume["iscsi"]["targetPortal"]
        yield from _fault_of(f"{path}.iscsi.targetPortal", portal, host_only=True)
    for index, monitor in enumerate(volume.get("rbd", {}).get("monitors") or ()):
        yield from _fault_of(f"{path}.rbd.monitors[{index}]", monitor, host_only=True)


def _fault_of(field: str, value: str, host_only: bool = False) -> Iterator[Cause]:
    try:
        uri.parse_host(value, default_port=1) if host_only else uri.parse(value)
    except uri.UriError as fault:
        yield _invalid(field, value, fault.why)


def _invalid(field: str, value: object, why: str) -> Cause:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(field, f"Invalid value: {shown}: {why}")
