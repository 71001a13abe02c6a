"""What a spec may ask for and this node does not do: told, and never left out in silence."""

from collections.abc import Iterator

from ingot.api.object import Object

_DEVICES = ("filesystems", "gpus", "hostDevices", "clientPassthrough", "downwardMetrics")
_BINDINGS = ("masquerade", "slirp", "passt", "passtBinding")


def unsupported(spec: Object) -> list[str]:
    """The fields that stand in the way, each with what would be accepted."""
    return [*_hardware(spec["domain"]), *_devices(spec["domain"]["devices"]), *_networks(spec)]


def _hardware(domain: Object) -> Iterator[str]:
    cpu = domain.get("cpu") or {}
    for key in ("dedicatedCpuPlacement", "isolateEmulatorThread", "numa", "realtime"):
        if cpu.get(key):
            yield f"spec.domain.cpu.{key}: leave it out"
    if (domain.get("memory") or {}).get("hugepages"):
        yield "spec.domain.memory.hugepages: leave it out"
    if domain.get("launchSecurity"):
        yield "spec.domain.launchSecurity: leave it out"
    firmware = domain.get("firmware") or {}
    if (firmware.get("kernelBoot") or {}).get("container"):
        yield "spec.domain.firmware.kernelBoot: boot from a disk"
    if firmware.get("acpi"):
        yield "spec.domain.firmware.acpi: leave it out"


def _devices(devices: Object) -> Iterator[str]:
    for key in _DEVICES:
        if devices.get(key):
            yield f"spec.domain.devices.{key}: leave it out"
    if (tpm := devices.get("tpm")) is not None and tpm.get("enabled", True):
        yield "spec.domain.devices.tpm: leave it out"
    if devices.get("autoattachVSOCK"):
        yield "spec.domain.devices.autoattachVSOCK: leave it out"


def _networks(spec: Object) -> Iterator[str]:
    for index, interface in enumerate(spec["domain"]["devices"].get("interfaces") or ()):
        if not any(binding in interface for binding in _BINDINGS):
            yield f"spec.domain.devices.interfaces[{index}]: use masquerade"
        if interface.get("ports"):
            yield f"spec.domain.devices.interfaces[{index}].ports: leave it out"
    for index, network in enumerate(spec.get("networks") or ()):
        if "pod" not in network:
            yield f"spec.networks[{index}]: use the pod network"
