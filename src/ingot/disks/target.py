"""Targets: the device that the guest sees, as libvirt's <disk>. Nothing else writes one."""

from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from ingot.api.kubevirt.traits import bus_of, copy_mode, kind_of
from ingot.api.object import Object
from ingot.disks.chain import add_chain, type_of
from ingot.disks.endpoint import Block, Endpoint, File, Format, Network
from ingot.disks.facts import Facts
from ingot.disks.source.refusal import final

__all__ = ["Options", "bus_of", "device_names", "kind_of", "render"]

# sata, scsi and usb disks share one row of names, as they do in a guest.
_PREFIX = {"virtio": "vd", "sata": "sd", "scsi": "sd", "usb": "sd"}
# An AHCI controller has six ports.
_SATA_PORTS = 6


@dataclass(frozen=True, slots=True)
class Options:
    """What the disk's own object does not say.

    `access` is the volume's access mode. `facts` are the endpoint's. `io_thread` is the number of the disk's own I/O
    thread, `queues` the number of its queues, `boot_order` its place among the boot devices when its object names
    none; each is 0 for none.
    """

    access: str = "write-exclusive"
    facts: Facts = field(default_factory=Facts)
    io_thread: int = 0
    queues: int = 0
    boot_order: int = 0


def device_names(disks: list[Object]) -> dict[str, str]:
    """The device name of each disk, by the disk's name, in the order of the disks: vda, vdb, … vdz, vdaa."""
    counts: dict[str, int] = {}
    names = {}
    for disk in disks:
        prefix = _PREFIX[bus_of(disk)]
        number = counts.get(prefix, 0)
        counts[prefix] = number + 1
        names[str(disk["name"])] = prefix + _letters(number)
    return names


def render(
    disk: Object,
    volume: Object | None,
    endpoint: Endpoint | None,
    device: str,
    secret_usage: str = "",
    options: Options | None = None,
) -> Element:
    """The <disk> of a disk whose bytes are at `endpoint`: the volume's source, or the local copy of it.

    A drive without a volume or without an endpoint is empty. Raises DiskFault for what only the endpoint could tell
    that it cannot be.
    """
    options = options or Options()
    kind, bus = kind_of(disk), bus_of(disk)
    element = Element("disk", type=type_of(endpoint) if endpoint else "file", device=kind)
    element.append(_driver(disk, volume, endpoint, options))
    if endpoint is not None:
        _check_lun(disk, endpoint)
        add_chain(element, endpoint, str(disk["name"]), secret_usage)
        _add_reservations(element, disk, endpoint)
    element.append(_target(disk, device))
    _add_block_size(element, disk, options.facts)
    _add_sharing(element, disk, volume, endpoint, options)
    if serial := disk.get("serial"):
        SubElement(element, "serial").text = str(serial)
    if order := disk.get("bootOrder") or options.boot_order:
        SubElement(element, "boot", order=str(order))
    SubElement(element, "alias", name=f"ua-{disk['name']}")
    _add_address(element, disk, bus, device)
    return element


def _driver(disk: Object, volume: Object | None, endpoint: Endpoint | None, options: Options) -> Element:
    driver = Element("driver", name="qemu", type=endpoint.format if endpoint else Format.RAW)
    if endpoint is None:
        return driver
    cache = _cache(disk, options.facts)
    driver.set("cache", cache)
    driver.set("error_policy", str(disk.get("errorPolicy") or "stop"))
    if io := _io(disk, endpoint, cache):
        driver.set("io", io)
    if kind_of(disk) == "disk":
        driver.set("discard", "unmap")
    if copy_mode(volume or {}) == "copy-on-read":
        driver.set("copy_on_read", "on")
    if options.io_thread:
        driver.set("iothread", str(options.io_thread))
    if options.queues and bus_of(disk) == "virtio":
        driver.set("queues", str(options.queues))
    return driver


def _cache(disk: Object, facts: Facts) -> str:
    asked = disk.get("cache")
    if asked == "none" and not facts.direct:
        why = (
            f"disk {disk['name']!r} asks for cache none, which the filesystem of its image cannot do (no O_DIRECT); "
            "leave cache out or set it to writethrough"
        )
        raise final(disk["name"], "DirectIOUnsupported", why)
    return str(asked or ("none" if facts.direct else "writethrough"))


def _io(disk: Object, endpoint: Endpoint, cache: str) -> str:
    """How QEMU does input and output; "" leaves it to QEMU."""
    asked = disk.get("io")
    if asked == "native" and cache != "none":
        why = (
            f"disk {disk['name']!r} asks for io native, which needs cache none, and the filesystem of its image "
            "cannot do that (no O_DIRECT); set io to threads"
        )
        raise final(disk["name"], "DirectIOUnsupported", why)
    if asked:
        return "" if asked == "default" else str(asked)
    return "native" if isinstance(endpoint, Block) and cache == "none" else ""


def _check_lun(disk: Object, endpoint: Endpoint) -> None:
    """A LUN passes the guest's own commands on to a SCSI device, so there has to be one."""
    device = isinstance(endpoint, Block) or (isinstance(endpoint, Network) and endpoint.protocol == "iscsi")
    if kind_of(disk) == "lun" and not (device and endpoint.format is Format.RAW):
        why = (
            f"disk {disk['name']!r} is a lun, which takes a raw block device or iSCSI target, and its volume is "
            f"{_described(endpoint)}; use a disk on the scsi bus instead"
        )
        raise final(disk["name"], "LunUnsupported", why)


def _add_reservations(element: Element, disk: Object, endpoint: Endpoint) -> None:
    """Persistent reservations of a device go through a helper that libvirt runs; an iSCSI target takes them as they
    are."""
    source = element.find("source")
    if isinstance(endpoint, Block) and source is not None and (disk.get("lun") or {}).get("reservation"):
        SubElement(source, "reservations", managed="yes")


def _described(endpoint: Endpoint) -> str:
    where = endpoint.protocol if isinstance(endpoint, Network) else type_of(endpoint)
    return f"{where} with format {endpoint.format}"


def _target(disk: Object, device: str) -> Element:
    kind = kind_of(disk)
    said: Object = disk.get(kind) or {}
    target = Element("target", dev=device, bus=bus_of(disk))
    if kind == "cdrom" and said.get("tray") == "open":
        target.set("tray", "open")
    if rate := said.get("rotationRate"):
        target.set("rotation_rate", str(rate))
    return target


def _add_block_size(element: Element, disk: Object, facts: Facts) -> None:
    asked: Object = disk.get("blockSize") or {}
    custom: dict[str, Any] = asked.get("custom") or {}
    logical, physical = custom.get("logical", 0), custom.get("physical", 0)
    match = asked.get("matchVolume")
    if match is not None and match.get("enabled", True):
        logical, physical = facts.logical, facts.physical
        if not logical:
            why = (
                f"disk {disk['name']!r} is to have its volume's block size (blockSize.matchVolume), which a server "
                "does not tell; set blockSize.custom instead"
            )
            raise final(disk["name"], "BlockSizeUnknown", why)
    if logical or physical:
        sizes = {"logical_block_size": logical or physical, "physical_block_size": physical or logical}
        SubElement(element, "blockio", {key: str(size) for key, size in sizes.items()})


def _add_sharing(
    element: Element, disk: Object, volume: Object | None, endpoint: Endpoint | None, options: Options
) -> None:
    kind = kind_of(disk)
    access = "write-exclusive" if _is_copy(volume, endpoint) else options.access
    readonly = kind == "cdrom" or bool((disk.get(kind) or {}).get("readonly")) or access == "read-shared"
    if readonly:
        if kind == "disk" and bus_of(disk) == "sata":
            why = (
                f"disk {disk['name']!r} is only read, and QEMU has no read-only disks on the sata bus; put it on "
                "virtio or scsi, make it a cdrom, or let the machine work on a copy (copy.mode)"
            )
            raise final(disk["name"], "ReadOnlyUnsupported", why)
        SubElement(element, "readonly")
    if not readonly and (access == "write-shared" or disk.get("shareable")):
        if endpoint is not None and endpoint.format is not Format.RAW:
            why = (
                f"disk {disk['name']!r} is shared for writing, which only a raw image can be, and its volume has "
                f"format {endpoint.format}; convert it to raw or use another access mode"
            )
            raise final(disk["name"], "SharingUnsupported", why)
        SubElement(element, "shareable")


def _add_address(element: Element, disk: Object, bus: str, device: str) -> None:
    """Where the device is on its bus: told, so that all of scsi's are on the one controller and none ever moves."""
    number = _number(device.removeprefix(_PREFIX[bus]))
    if pci := (disk.get(kind_of(disk)) or {}).get("pciAddress"):
        domain, bus_number, rest = str(pci).split(":")
        slot, function = rest.split(".")
        parts = {"domain": domain, "bus": bus_number, "slot": slot, "function": function}
        SubElement(element, "address", {"type": "pci", **{key: f"0x{part}" for key, part in parts.items()}})
    elif bus == "scsi":
        SubElement(element, "address", type="drive", controller="0", bus="0", target="0", unit=str(number))
    elif bus == "sata":
        controller, unit = divmod(number, _SATA_PORTS)
        place = {"controller": str(controller), "bus": "0", "target": "0", "unit": str(unit)}
        SubElement(element, "address", {"type": "drive", **place})


def _is_copy(volume: Object | None, endpoint: Endpoint | None) -> bool:
    """Whether the bytes are the machine's own, however their source is shared."""
    return copy_mode(volume or {}) != "none" or (isinstance(endpoint, File) and endpoint.backing is not None)


def _letters(number: int) -> str:
    """a … z, aa … zz, aaa …, as the kernel names its disks."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def _number(letters: str) -> int:
    """The place of a disk's letters in their row, from 0."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("a") + 1
    return number - 1
