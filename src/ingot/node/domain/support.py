"""What a spec may ask for and this node does not do: told, and never left out in silence."""

from collections.abc import Iterator
from typing import Any

from ingot.api.kubevirt import sizes
from ingot.api.object import Object
from ingot.api.quantity import whole

_OUT = "leave it out"
_NO_AGENT = "use noCloud or configDrive"
_NO_GROWTH = "a running machine cannot grow; leave it out, or say what it has already"
# Fields that are told of wherever they are given and not false, and what to do instead.
NOT_SUPPORTED = {
    "domain.cpu.dedicatedCpuPlacement": _OUT,
    "domain.cpu.isolateEmulatorThread": _OUT,
    "domain.cpu.numa": _OUT,
    "domain.cpu.realtime": _OUT,
    "domain.memory.hugepages": _OUT,
    "domain.launchSecurity": _OUT,
    "domain.firmware.kernelBoot": "boot from a disk",
    "domain.firmware.acpi": _OUT,
    "domain.firmware.bootloader.efi.persistent": "the firmware's variables go with the instance; leave it out",
    "domain.features.hyperv.tlbflush.direct": _OUT,
    "domain.features.hyperv.tlbflush.extended": _OUT,
    "domain.ioThreads": "use ioThreadsPolicy shared or auto, or dedicatedIOThread of disks",
    "domain.devices.filesystems": "use a disk",
    "domain.devices.gpus": _OUT,
    "domain.devices.hostDevices": _OUT,
    "domain.devices.clientPassthrough": _OUT,
    "domain.devices.downwardMetrics": _OUT,
    "domain.devices.autoattachVSOCK": _OUT,
    "domain.devices.watchdog.diag288": "use i6300esb",
    "domain.devices.disks[].tag": "use serial, by which the guest finds the disk",
    "domain.devices.disks[].changedBlockTracking": _OUT,
    "domain.devices.interfaces[].dhcpOptions": _OUT,
    "domain.devices.interfaces[].tag": _OUT,
    "networks[].multus": "use the pod network",
    "readinessProbe": _OUT,
    "livenessProbe": _OUT,
    "accessCredentials[].userPassword": "set the password with cloud-init",
    "accessCredentials[].sshPublicKey.propagationMethod.qemuGuestAgent": _NO_AGENT,
    "resourceClaims": _OUT,
    "utilityVolumes": _OUT,
}
# On QEMU's user network, with no privilege and nothing of the pod's.
_BINDINGS = ("masquerade", "slirp", "passt", "passtBinding")


def unsupported(spec: Object) -> list[str]:
    """The fields that stand in the way, each with what would be accepted."""
    told = [
        f"spec.{path}: {cure}"
        for field, cure in NOT_SUPPORTED.items()
        for path, value in _found(spec, field.split("."), "")
        if value not in (None, False, [], "")
    ]
    return [*told, *_growth(spec), *_devices(spec["domain"])]


def _found(value: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    """(path, value) of each place that the steps lead to; a step with [] is all items of a list."""
    if not steps:
        yield path, value
        return
    step, rest = steps[0], steps[1:]
    name = step.removesuffix("[]")
    if not isinstance(value, dict) or name not in value:
        return
    below = f"{path}.{name}" if path else name
    if step == name:
        yield from _found(value[name], rest, below)
        return
    for index, item in enumerate(value[name] or ()):
        yield from _found(item, rest, f"{below}[{index}]")


def _growth(spec: Object) -> Iterator[str]:
    """What may become more, unless it is already there."""
    most = (spec["domain"].get("memory") or {}).get("maxGuest")
    if most is not None and whole(most) != sizes.guest_memory(spec):
        yield f"spec.domain.memory.maxGuest: {_NO_GROWTH}"
    sockets = (spec["domain"].get("cpu") or {}).get("maxSockets")
    if sockets is not None and sockets != sizes.topology(spec)[0]:
        yield f"spec.domain.cpu.maxSockets: {_NO_GROWTH}"


def _devices(domain: Object) -> Iterator[str]:
    devices = domain["devices"]
    if (tpm := devices.get("tpm")) is not None and tpm.get("enabled", True):
        yield "spec.domain.devices.tpm: leave it out"
    if domain.get("ioThreadsPolicy") == "supplementalPool":
        yield "spec.domain.ioThreadsPolicy: use shared or auto"
    for index, interface in enumerate(devices.get("interfaces") or ()):
        if not any(binding in interface for binding in _BINDINGS):
            yield f"spec.domain.devices.interfaces[{index}]: use masquerade"
