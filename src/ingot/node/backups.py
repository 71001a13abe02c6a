"""libvirt's backup jobs: the disks of a running domain as they are at one moment, to be read from a socket.

From then on QEMU keeps what the guest overwrites in scratch files, until the job ends. Everything here blocks, and
raises libvirt.libvirtError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ingot.node import binding
from ingot.node.binding import Connection, Domain, constant

_ALIAS = "ua-"


@dataclass(frozen=True, slots=True)
class Device:
    """A disk of a domain: libvirt's name of it, and how large the guest sees it."""

    name: str
    size: int


def devices(connection: Connection, domain: str) -> dict[str, Device]:
    """The disks of a running domain that a backup can have, by the names of their volumes."""
    found = connection.lookupByName(domain)
    sizes = _sizes(connection, found)
    return {volume: Device(name, sizes[name]) for volume, name in names_in(found.XMLDesc(0)).items()}


def _sizes(connection: Connection, domain: Domain) -> dict[str, int]:
    """How large QEMU says that disks are, by libvirt's names: libvirt itself cannot tell of files handed to it."""
    ((_, told),) = connection.domainListGetStats([domain], constant("VIR_DOMAIN_STATS_BLOCK"))
    numbers = range(int(told.get("block.count", 0)))
    return {told[f"block.{each}.name"]: int(told.get(f"block.{each}.capacity", 0)) for each in numbers}


def names_in(xml: str) -> dict[str, str]:
    """libvirt's names of the disks in a domain's XML, by the names of their volumes. Drives, whose media come and go,
    and devices that the guest speaks to itself are none."""
    found = {}
    for disk in ElementTree.fromstring(xml).iter("disk"):  # noqa: S314 - libvirt's own text
        alias, target = disk.find("alias"), disk.find("target")
        if disk.get("device", "disk") == "disk" and alias is not None and target is not None:
            found[alias.get("name", "").removeprefix(_ALIAS)] = target.get("dev", "")
    return found


def begin(connection: Connection, domain: str, socket: Path, scratches: Mapping[str, tuple[Path, str]]) -> None:
    """Stops time for some disks: from now on QEMU serves them on the socket, by the names of their volumes.

    `scratches` are a file that is not there yet, and libvirt's name of the disk, by volume.
    """
    connection.lookupByName(domain).backupBegin(job(socket, scratches), None, 0)


def job(socket: Path, scratches: Mapping[str, tuple[Path, str]]) -> str:
    """A <domainbackup>. Disks that it does not name have no part in it."""
    root = Element("domainbackup", mode="pull")
    SubElement(root, "server", transport="unix", socket=str(socket))
    disks = SubElement(root, "disks")
    for volume, (scratch, name) in scratches.items():
        disk = SubElement(disks, "disk", name=name, backup="yes", backupmode="full", type="file", exportname=volume)
        SubElement(disk, "driver", type="qcow2")
        SubElement(disk, "scratch", file=str(scratch))
    return ElementTree.tostring(root, encoding="unicode")


def abort(connection: Connection, domain: str, socket: Path) -> bool:
    """Asks the job on that socket to end; whether there still was one."""
    found = connection.lookupByName(domain)
    if _server(found) != str(socket):
        return False
    try:
        found.abortJob()
    except binding.library().libvirtError as error:
        # It has ended in between, or is about to.
        if binding.error_code(error) != constant("VIR_ERR_OPERATION_INVALID"):
            raise
    return True


def is_busy(connection: Connection, domain: str) -> bool:
    """Whether libvirt is at a job with the domain, of a backup or another one: it would not begin a second one."""
    return int(connection.lookupByName(domain).jobStats(0)["type"]) != constant("VIR_DOMAIN_JOB_NONE")


def _server(domain: Domain) -> str:
    """The socket of the backup that is under way, "" when there is none."""
    try:
        xml = domain.backupGetXMLDesc(0)
    except binding.library().libvirtError as error:
        if binding.error_code(error) == constant("VIR_ERR_NO_DOMAIN_BACKUP"):
            return ""
        raise
    server = ElementTree.fromstring(xml).find("server")  # noqa: S314 - libvirt's own text
    return server.get("socket", "") if server is not None else ""
