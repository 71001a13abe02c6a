"""Disks that a schema accepts and no guest could have, as KubeVirt's own webhook refuses them."""

import re
from collections.abc import Callable, Iterator

from ingot.api.kubevirt.causes import invalid
from ingot.api.kubevirt.platform_faults import pci_faults
from ingot.api.kubevirt.traits import bus_of, copy_mode, format_of, is_read_only, kind_of, takes_lun
from ingot.api.object import Object
from ingot.api.status import Cause

_SERIAL = re.compile(r"[A-Za-z0-9_.+-]*")
# QEMU's.
_MOST_BLOCK = 2 << 20


def disk_faults(disks: list[Object], volumes: list[Object], path: str) -> Iterator[Cause]:
    """The faults of the disks that are found at `path`, by themselves and with the volumes of their names."""
    by_name = {volume["name"]: volume for volume in volumes}
    for index, disk in enumerate(disks):
        volume = by_name.get(disk["name"], {})
        for rule in _RULES:
            yield from rule(disk, volume, f"{path}[{index}]")


def _buses(disk: Object, _volume: Object, path: str) -> Iterator[Cause]:
    kind, bus = kind_of(disk), bus_of(disk)
    device: Object = disk.get(kind) or {}
    if kind == "cdrom" and bus == "virtio":
        yield invalid(f"{path}.cdrom.bus", bus, "Bus type virtio is invalid for a CD-ROM device; use sata, scsi or usb")
    if kind == "lun" and bus != "scsi":
        yield invalid(f"{path}.lun.bus", bus, "a lun can be on the scsi bus only")
    if "rotationRate" in device and bus not in ("sata", "scsi"):
        yield invalid(f"{path}.disk.rotationRate", device["rotationRate"], "only sata and scsi disks have one")
    if "pciAddress" in device:
        address = device["pciAddress"]
        if bus != "virtio":
            why = f"disk {disk['name']} - setting a PCI address is only possible with bus type virtio"
            yield invalid(f"{path}.disk.pciAddress", address, why)
        yield from pci_faults(f"{path}.disk.pciAddress", address)
    if disk.get("dedicatedIOThread") and bus != "virtio":
        why = f"IOThreads are not supported for disks on a {bus} bus; use virtio"
        yield invalid(f"{path}.dedicatedIOThread", "true", why)


def _serial(disk: Object, _volume: Object, path: str) -> Iterator[Cause]:
    serial = disk.get("serial", "")
    if not _SERIAL.fullmatch(serial):
        yield invalid(f"{path}.serial", serial, "must be made up of the following characters [A-Za-z0-9_.+-]")
    if serial and "lun" in disk:
        yield invalid(f"{path}.serial", serial, "a lun shows its device's own serial number; leave it out")


def _caches(disk: Object, volume: Object, path: str) -> Iterator[Cause]:
    cache = disk.get("cache")
    if disk.get("io") == "native" and cache not in (None, "none"):
        yield invalid(f"{path}.io", "native", f"it needs cache none, and cache is {cache}")
    if _shares_writes(disk, volume) and cache not in (None, "none"):
        yield invalid(f"{path}.cache", cache, "a disk that several machines write to has cache none")


def _block_sizes(disk: Object, _volume: Object, path: str) -> Iterator[Cause]:
    sizes: Object = (disk.get("blockSize") or {}).get("custom") or {}
    field = f"{path}.blockSize.custom"
    logical, physical = sizes.get("logical"), sizes.get("physical")
    for name, size in (("logical", logical), ("physical", physical)):
        if size is not None and (size & (size - 1) or size > _MOST_BLOCK):
            why = f"Provided size of {size} is not a power of 2 of at most {_MOST_BLOCK}"
            yield invalid(f"{field}.{name}", size, why)
    if logical is not None and physical is not None and logical > physical:
        why = f"Logical size {logical} must be the same or less than the physical size of {physical}"
        yield invalid(f"{field}.logical", logical, why)
    if "discardGranularity" in sizes:
        why = "it is the logical size, and cannot be chosen; leave it out"
        yield invalid(f"{field}.discardGranularity", sizes["discardGranularity"], why)


def _sharing(disk: Object, volume: Object, path: str) -> Iterator[Cause]:
    field = f"{path}.shareable"
    mode = volume.get("accessMode", "write-shared")
    if disk.get("shareable") and mode != "write-shared":
        why = f"several machines write to a shareable disk, and its volume's accessMode is {mode}; use write-shared"
        yield invalid(field, "true", why)
    if disk.get("shareable") and copy_mode(volume) != "none":
        yield invalid(field, "true", f"with copy mode {copy_mode(volume)} the machine has a disk of its own")
    if _shares_writes(disk, volume) and copy_mode(volume) == "none" and format_of(volume) == "qcow2":
        why = "several machines cannot write to a qcow2; use raw, or another access mode"
        yield invalid(f"{path}.name", disk["name"], why)


def _reading(disk: Object, volume: Object, path: str) -> Iterator[Cause]:
    """What the devices that are only read cannot do."""
    kind = kind_of(disk)
    mode = copy_mode(volume)
    device: Object = disk.get(kind) or {}
    reads = bool(device.get("readonly")) or (mode == "none" and is_read_only(volume))
    if kind == "disk" and reads and bus_of(disk) == "sata":
        why = "there are no read-only sata disks; use virtio or scsi, a cdrom, or a copy mode"
        yield invalid(f"{path}.disk.bus", "sata", why)
    if mode == "copy-on-read" and (kind == "cdrom" or device.get("readonly")):
        why = "copy-on-read keeps what is read, which a read-only device does not allow; use copy-on-write or clone"
        yield invalid(f"{path}.{kind}", disk["name"], why)


def _luns(disk: Object, volume: Object, path: str) -> Iterator[Cause]:
    if "lun" not in disk or not volume:
        return
    if not takes_lun(volume):
        why = "a lun needs a SCSI device: a block persistentVolumeClaim or dataVolume, or raw iscsi; use a disk instead"
        yield invalid(f"{path}.lun", disk["name"], why)
    elif copy_mode(volume) != "none":
        why = f"copy mode {copy_mode(volume)} makes a file, and a lun needs a SCSI device; use a disk instead"
        yield invalid(f"{path}.lun", disk["name"], why)


_RULES: tuple[Callable[[Object, Object, str], Iterator[Cause]], ...] = (
    _buses,
    _serial,
    _caches,
    _block_sizes,
    _sharing,
    _reading,
    _luns,
)


def _shares_writes(disk: Object, volume: Object) -> bool:
    return bool(disk.get("shareable")) or volume.get("accessMode") == "write-shared"
