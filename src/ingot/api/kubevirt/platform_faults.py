"""Platforms that no node has: machine types, CPU models, firmware, clocks, architectures."""

import re
import uuid
import zoneinfo
from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid, not_supported
from ingot.api.object import Object
from ingot.api.status import Cause

# As KubeVirt's emulated machines: its own kinds on every architecture, with a version or without.
_MACHINE = re.compile(r"(pc-q35|pc-i440fx|pseries|s390-ccw-virtio)(-[A-Za-z0-9.]+)*|q35|pc|virt(-[0-9.]+)?")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SERIAL = re.compile(r"[A-Za-z0-9_.+-]*")
_MOST_SERIAL = 256
_ARCHITECTURES = ("amd64", "arm64", "s390x")
# Of q35: bus 0 has slots for devices, but for the first; each other bus is a port, and has one slot.
_PCI = re.compile(r"0000:(00:(?!00)[01][0-9a-fA-F]|(?!00)[0-9a-fA-F]{2}:00)\.[0-7]")
_VIDEO = ("bochs", "cirrus", "none", "qxl", "ramfb", "vga", "virtio")


def platform_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of what the guest is to find besides its devices, in an instance's spec at `path`."""
    domain = spec["domain"]
    yield from _machine(spec, path)
    yield from _cpu(domain.get("cpu") or {}, f"{path}.domain.cpu")
    yield from _firmware(domain, f"{path}.domain")
    zone = (domain.get("clock") or {}).get("timezone")
    if zone is not None and not _is_zone(zone):
        yield invalid(f"{path}.domain.clock.timezone", zone, "no timezone has this name; it looks like Europe/Berlin")
    video = (domain["devices"].get("video") or {}).get("type")
    if video is not None and video not in _VIDEO:
        yield not_supported(f"{path}.domain.devices.video.type", video, _VIDEO)


def pci_faults(field: str, address: str) -> Iterator[Cause]:
    """A device's place in the guest."""
    if not _PCI.fullmatch(address):
        why = (
            "The PCI address is malformed or not there; it looks like 0000:03:00.0 (bus 01 to ff, slot 00) or "
            "0000:00:0a.0 (bus 00, slot 01 to 1f)"
        )
        yield invalid(field, address, why)


def _machine(spec: Object, path: str) -> Iterator[Cause]:
    kind = (spec["domain"].get("machine") or {}).get("type", "")
    field = f"{path}.domain.machine.type"
    if kind and not _MACHINE.fullmatch(kind):
        allowed = "[q35 pc-q35* pc pc-i440fx* virt*]"
        why = f"{field} is not supported: {kind} (allowed values: {allowed}); leave it out for q35"
        yield invalid(field, kind, why)
    architecture = spec.get("architecture")
    if architecture and architecture not in _ARCHITECTURES:
        yield not_supported(f"{path}.architecture", architecture, _ARCHITECTURES)


def _cpu(cpu: Object, path: str) -> Iterator[Cause]:
    named = [(f"{path}.model", cpu.get("model", ""))]
    named += [(f"{path}.features[{index}].name", each["name"]) for index, each in enumerate(cpu.get("features") or ())]
    for field, name in named:
        if name and not _MODEL.fullmatch(name):
            yield invalid(field, name, "must be made up of the following characters [A-Za-z0-9_.-]")


def _firmware(domain: Object, path: str) -> Iterator[Cause]:
    firmware = domain.get("firmware") or {}
    serial = firmware.get("serial", "")
    if not _SERIAL.fullmatch(serial):
        field = f"{path}.firmware.serial"
        why = f"{field} must be made up of the following characters [A-Za-z0-9_.+-], if specified"
        yield invalid(field, serial, why)
    if len(serial) > _MOST_SERIAL:
        yield invalid(f"{path}.firmware.serial", serial, f"must be less than or equal to {_MOST_SERIAL} in length")
    if (given := firmware.get("uuid")) and not _is_uuid(given):
        why = "must be a UUID, such as 5d307ca9-b3ef-428c-8861-06e72d69f223; leave it out for a stable one"
        yield invalid(f"{path}.firmware.uuid", given, why)
    kernel = firmware.get("kernelBoot") or {}
    if kernel.get("kernelArgs") and "container" not in kernel:
        why = "kernel arguments cannot be provided without an external kernel: name its container, or leave them out"
        yield invalid(f"{path}.firmware.kernelBoot.kernelArgs", kernel["kernelArgs"], why)
    yield from _secure_boot(domain, path)


def _secure_boot(domain: Object, path: str) -> Iterator[Cause]:
    efi = ((domain.get("firmware") or {}).get("bootloader") or {}).get("efi")
    if efi is not None and efi.get("secureBoot", True) and not _has_smm(domain):
        field = f"{path}.firmware.bootloader.efi"
        why = (
            f"{field} has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled. "
            f"Set {path}.features.smm, or secureBoot to false"
        )
        yield invalid(f"{field}.secureBoot", "true", why)


def _has_smm(domain: Object) -> bool:
    smm = (domain.get("features") or {}).get("smm")
    return smm is not None and bool(smm.get("enabled", True))


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return bool(name)
