"""The devices of a machine besides its disks and network cards."""

from typing import Annotated, Literal

import msgspec

from ingot.api.kubevirt.disk import Disk
from ingot.api.kubevirt.features import FeatureState
from ingot.api.kubevirt.network import Interface
from ingot.api.machinery import UNSET, Field, Opt, Shape

WatchdogAction = Literal["poweroff", "reset", "shutdown"]


class Bare(Shape):
    """A device that has nothing to configure."""


class WatchdogDevice(Shape):
    """A watchdog's model."""

    action: Annotated[Opt[WatchdogAction], Field("What happens when it fires; reset unless told.")] = UNSET


class Watchdog(Shape):
    """A device that acts when the guest hangs."""

    name: Annotated[str, Field("The device's name.")]
    i6300esb: Opt[WatchdogDevice] = UNSET
    diag288: Opt[WatchdogDevice] = UNSET


class Input(Shape):
    """A tablet or keyboard."""

    name: Annotated[str, Field("The device's name.")]
    type: Annotated[Literal["tablet", "keyboard"], Field("What it is.")]
    bus: Annotated[Opt[Literal["virtio", "usb"]], Field("The bus that it is on.")] = UNSET


class Filesystem(Shape):
    """A volume that the guest mounts as a filesystem."""

    name: Annotated[str, Field("The volume's name.")]
    virtiofs: Bare


class VgpuDisplay(Shape):
    """The display of a virtual GPU."""

    enabled: Annotated[Opt[bool], Field("Whether it has one.")] = UNSET
    ram_fb: Annotated[Opt[FeatureState], Field("A frame buffer until the driver is loaded.")] = msgspec.field(
        name="ramFB", default=UNSET
    )


class VgpuOptions(Shape):
    """Options of a virtual GPU."""

    display: Opt[VgpuDisplay] = UNSET


class HostDevice(Shape, kw_only=True):
    """A device of the node that is passed through."""

    name: Annotated[str, Field("The device's name.")]
    device_name: Annotated[Opt[str], Field("The resource that a device plugin offers.")] = UNSET
    claim_name: Annotated[Opt[str], Field("The name of a resource claim.")] = UNSET
    request_name: Annotated[Opt[str], Field("The request in that claim.")] = UNSET
    tag: Annotated[Opt[str], Field("A tag that the guest finds in its config drive.")] = UNSET


class Gpu(HostDevice):
    """A GPU of the node that is passed through."""

    virtual_gpu_options: Opt[VgpuOptions] = msgspec.field(name="virtualGPUOptions", default=UNSET)


class Sound(Shape):
    """A sound card."""

    name: Annotated[str, Field("The device's name.")]
    model: Annotated[Opt[Literal["ich9", "ac97"]], Field("ich9 unless told.")] = UNSET


class Tpm(Shape):
    """A trusted platform module."""

    enabled: Annotated[Opt[bool], Field("Whether it is there; true unless told.")] = UNSET
    persistent: Annotated[Opt[bool], Field("Whether its state survives a restart.")] = UNSET


class Video(Shape):
    """The video device."""

    type: Annotated[Opt[str], Field("Such as virtio, vga, bochs or ramfb.")] = UNSET


class PanicDevice(Shape):
    """A device that tells of a guest's crash."""

    model: Opt[Literal["hyperv", "isa", "pvpanic"]] = UNSET


class Devices(Shape):
    """All devices of a machine."""

    disks: Annotated[
        Opt[list[Disk]], Field("Disks, CD-ROM drives and LUNs.", list_type="map", keys=("name",), max_items=256)
    ] = UNSET
    interfaces: Annotated[
        Opt[list[Interface]], Field("Network cards.", list_type="map", keys=("name",), max_items=256)
    ] = UNSET
    filesystems: Opt[list[Filesystem]] = UNSET
    inputs: Opt[list[Input]] = UNSET
    gpus: Opt[list[Gpu]] = UNSET
    host_devices: Opt[list[HostDevice]] = UNSET
    panic_devices: Opt[list[PanicDevice]] = UNSET
    rng: Annotated[Opt[Bare], Field("A source of random numbers.")] = UNSET
    watchdog: Opt[Watchdog] = UNSET
    tpm: Opt[Tpm] = UNSET
    sound: Opt[Sound] = UNSET
    video: Opt[Video] = UNSET
    client_passthrough: Annotated[Opt[Bare], Field("USB redirection from a client.")] = UNSET
    downward_metrics: Annotated[Opt[Bare], Field("A serial port with figures of the host.")] = UNSET
    autoattach_pod_interface: Annotated[Opt[bool], Field("Whether there is a default network card.")] = UNSET
    autoattach_graphics_device: Annotated[Opt[bool], Field("Whether there is a display.")] = UNSET
    autoattach_serial_console: Annotated[Opt[bool], Field("Whether there is a serial console.")] = UNSET
    autoattach_mem_balloon: Annotated[Opt[bool], Field("Whether there is a memory balloon.")] = UNSET
    autoattach_input_device: Annotated[Opt[bool], Field("Whether there is an input device.")] = UNSET
    autoattach_vsock: Annotated[Opt[bool], Field("Whether there is a VSOCK.")] = msgspec.field(
        name="autoattachVSOCK", default=UNSET
    )
    log_serial_console: Annotated[Opt[bool], Field("Whether the serial console is logged.")] = UNSET
    block_multi_queue: Annotated[Opt[bool], Field("Whether disks have a queue for each CPU.")] = UNSET
    network_interface_multiqueue: Annotated[Opt[bool], Field("Whether network cards have a queue for each CPU.")] = (
        UNSET
    )
    use_virtio_transitional: Annotated[Opt[bool], Field("virtio 0.9 for old guests.")] = UNSET
    disable_hotplug: Annotated[Opt[bool], Field("Whether no disk may come or go at run time.")] = UNSET
