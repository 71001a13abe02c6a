"""A disk of a machine: the device that the guest sees."""

from typing import Annotated, Literal

import msgspec

from ingot.api.kubevirt.features import FeatureState
from ingot.api.machinery import UNSET, Field, Int32, Label, Opt, Rule, Shape

Bus = Annotated[Opt[Literal["virtio", "sata", "scsi", "usb"]], Field("The bus that the device is on.")]
PciAddress = Annotated[Opt[str], Field("The device's PCI address in the guest, such as 0000:03:00.0.")]
BootOrder = Annotated[
    Opt[int], Field("Its place among the boot devices; lower ones come first, and none is the same.", minimum=1)
]


class DiskTarget(Shape):
    """An ordinary disk."""

    bus: Bus = UNSET
    readonly: Annotated[Opt[bool], Field("Whether the guest may only read.")] = UNSET
    pci_address: PciAddress = UNSET
    rotation_rate: Annotated[
        Opt[Int32], Field("Turns per minute that a sata or scsi disk claims; 1 for an SSD.", minimum=1, maximum=65534)
    ] = UNSET


class LunTarget(Shape):
    """A SCSI device that takes the guest's own commands."""

    bus: Bus = UNSET
    readonly: Annotated[Opt[bool], Field("Whether the guest may only read.")] = UNSET
    reservation: Annotated[Opt[bool], Field("Whether persistent reservations are passed on.")] = UNSET


class CdRomTarget(Shape):
    """A CD-ROM drive. Without a volume of its name it is empty."""

    bus: Bus = UNSET
    readonly: Annotated[Opt[bool], Field("Whether the guest may only read; true unless told.")] = UNSET
    tray: Annotated[Opt[Literal["open", "closed"]], Field("Whether the tray is open.")] = UNSET


class CustomBlockSize(Shape):
    """Block sizes in bytes."""

    logical: Annotated[Opt[int], Field("What the guest addresses.", minimum=512)] = UNSET
    physical: Annotated[Opt[int], Field("What the disk writes at once.", minimum=512)] = UNSET
    discard_granularity: Annotated[Opt[int], Field("What can be discarded at once.", minimum=0)] = UNSET


class BlockSize(Shape):
    """The block size that the guest sees: one of its own, or the volume's."""

    RULES = (Rule("!(has(self.custom) && has(self.matchVolume))", "custom and matchVolume exclude each other"),)

    custom: Opt[CustomBlockSize] = UNSET
    match_volume: Annotated[Opt[FeatureState], Field("Whether the volume's own sizes are used.")] = UNSET


class DiskOptions(Shape, kw_only=True):
    """All of a disk but its name."""

    disk: Opt[DiskTarget] = UNSET
    cdrom: Opt[CdRomTarget] = UNSET
    lun: Opt[LunTarget] = UNSET
    boot_order: BootOrder = UNSET
    serial: Annotated[Opt[str], Field("The serial number, by which the guest can find it.", max_length=256)] = UNSET
    cache: Annotated[Opt[Literal["none", "writethrough", "writeback"]], Field("How the host caches it.")] = UNSET
    io: Annotated[Opt[Literal["native", "threads", "default"]], Field("How QEMU reads and writes.")] = UNSET
    error_policy: Annotated[
        Opt[Literal["stop", "ignore", "report", "enospace"]], Field("What happens on an I/O error.")
    ] = UNSET
    shareable: Annotated[Opt[bool], Field("Whether several machines may write to it.")] = UNSET
    dedicated_io_thread: Annotated[Opt[bool], Field("Whether it has an I/O thread of its own.")] = msgspec.field(
        name="dedicatedIOThread", default=UNSET
    )
    block_size: Opt[BlockSize] = UNSET
    tag: Annotated[Opt[str], Field("A tag that the guest finds in its config drive.")] = UNSET
    changed_block_tracking: Annotated[Opt[bool], Field("Whether changed blocks are recorded.")] = UNSET


ONE_TARGET = Rule(
    "(has(self.disk) ? 1 : 0) + (has(self.cdrom) ? 1 : 0) + (has(self.lun) ? 1 : 0) <= 1",
    "disk, cdrom and lun exclude each other",
)


class Disk(DiskOptions):
    """A device of the guest, backed by the volume of the same name. Without disk, cdrom or lun it is a disk."""

    RULES = (ONE_TARGET,)

    name: Annotated[Label, Field("The name of the volume behind it.")]
