"""What is wrong with a machine that its schema accepts: names that refer to nothing, addresses that are not any."""

from collections.abc import Iterator

from ingot.api.cdi.faults import volume_faults as data_volume_faults
from ingot.api.kubevirt.address_faults import address_faults
from ingot.api.kubevirt.causes import invalid, required
from ingot.api.kubevirt.disk_faults import disk_faults
from ingot.api.kubevirt.guest_faults import guest_faults
from ingot.api.kubevirt.name_faults import machine_name_faults, name_faults, reference_faults, template_faults
from ingot.api.kubevirt.network_faults import network_faults
from ingot.api.kubevirt.placement_faults import placement_faults
from ingot.api.kubevirt.platform_faults import platform_faults
from ingot.api.kubevirt.replica_faults import selector_faults
from ingot.api.kubevirt.size_faults import size_faults
from ingot.api.kubevirt.text_faults import text_faults
from ingot.api.kubevirt.traits import claim_of
from ingot.api.kubevirt.update_faults import update_faults
from ingot.api.kubevirt.volume_faults import volume_faults
from ingot.api.object import Object
from ingot.api.status import Cause

# QEMU counts them in signed 32 bits.
_LAST_BOOT_ORDER = 2**31 - 1


def instance(obj: Object, old: Object | None) -> list[Cause]:
    """The faults of a VirtualMachineInstance or a VM. One that is there stays as it is."""
    if old is not None:
        return update_faults(obj["spec"], old["spec"])
    return [*machine_name_faults(obj), *spec_faults(obj["spec"], "spec")]


def machine(obj: Object, _old: Object | None) -> list[Cause]:
    """The faults of a VirtualMachine: those of its template and of its DataVolumes."""
    spec = obj["spec"]
    found = [*machine_name_faults(obj), *_template_faults(spec["template"])]
    used = {claim_of(volume) for volume in spec["template"]["spec"].get("volumes") or ()}
    for index, template in enumerate(spec.get("dataVolumeTemplates") or ()):
        field = f"spec.dataVolumeTemplates[{index}]"
        name = (template.get("metadata") or {}).get("name")
        if not name:
            found.append(required(f"{field}.metadata.name", "a DataVolume needs a name"))
        elif name not in used:
            why = f"DataVolumeTemplate entry {name} must be referenced in the VMI template's 'volumes' list"
            found.append(invalid(field, name, why))
        found += reference_faults(f"{field}.metadata.name", name)
        found += data_volume_faults(template["spec"], f"{field}.spec")
    return found


def replica_set(obj: Object, _old: Object | None) -> list[Cause]:
    """The faults of a replica set: those of its template, and a selector that does not fit the template's labels."""
    spec = obj["spec"]
    return [*_template_faults(spec["template"]), *selector_faults(spec)]


def _template_faults(template: Object) -> Iterator[Cause]:
    yield from template_faults(template.get("metadata") or {}, "spec.template.metadata")
    yield from spec_faults(template["spec"], "spec.template.spec")


def spec_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of an instance's spec that is found at `path`."""
    devices = spec["domain"]["devices"]
    yield from text_faults(spec, path)
    yield from name_faults(spec, path)
    yield from placement_faults(spec, path)
    yield from size_faults(spec["domain"], f"{path}.domain")
    yield from platform_faults(spec, path)
    yield from guest_faults(spec, path)
    yield from _disk_names(spec, devices, f"{path}.domain.devices")
    yield from network_faults(spec, path)
    yield from _boot_orders(devices, f"{path}.domain.devices")
    volumes, disks = spec.get("volumes") or [], devices.get("disks") or []
    yield from disk_faults(disks, volumes, f"{path}.domain.devices.disks")
    yield from volume_faults(volumes, disks, f"{path}.volumes")
    for index, volume in enumerate(volumes):
        yield from address_faults(volume, f"{path}.volumes[{index}]")


def _disk_names(spec: Object, devices: Object, path: str) -> Iterator[Cause]:
    volumes = {volume["name"] for volume in spec.get("volumes") or ()}
    seen = set()
    for index, disk in enumerate(devices.get("disks") or ()):
        if disk["name"] in seen:
            # The schema of v1alpha1 cannot tell disks apart by a name that they need not have.
            duplicate = f'Duplicate value: "{disk["name"]}"'
            yield Cause(f"{path}.disks[{index}].name", duplicate, "FieldValueDuplicate")
        seen.add(disk["name"])
        # A CD-ROM drive may be empty.
        if disk["name"] not in volumes and "cdrom" not in disk:
            known = ", ".join(sorted(volumes)) or "there are none"
            yield invalid(f"{path}.disks[{index}].name", disk["name"], f"no volume has this name ({known})")
    for index, filesystem in enumerate(devices.get("filesystems") or ()):
        if filesystem["name"] not in volumes:
            yield invalid(f"{path}.filesystems[{index}].name", filesystem["name"], "no volume has this name")


def _boot_orders(devices: Object, path: str) -> Iterator[Cause]:
    first: dict[int, str] = {}
    for key in ("disks", "interfaces"):
        for index, device in enumerate(devices.get(key) or ()):
            order = device.get("bootOrder")
            field = f"{path}.{key}[{index}].bootOrder"
            if order is not None and order > _LAST_BOOT_ORDER:
                yield invalid(field, order, f"must be at most {_LAST_BOOT_ORDER}")
            elif order is not None and first.setdefault(order, field) != field:
                yield invalid(field, order, f"{first[order]} has the same")
