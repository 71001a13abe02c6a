"""The libvirt domain of an instance, whole."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.node.domain import devices, hardware
from ingot.node.domain.element import put

METADATA = "https://ingot.io/domain"
# Files in libvirt's directories carry the domain's name; names of objects may be longer than theirs.
LONGEST_NAME = 200
_NAMESPACE = uuid.UUID("7c3f4f1e-6d0a-4f0e-9f7a-3b1c5d2a8e60")


@dataclass(frozen=True, slots=True)
class Host:
    """What the node gives every domain: how guests are run, and which CPU they see unless told."""

    accelerator: str
    cpu_model: str


def domain_name(instance: Object) -> str:
    """The domain's name: told apart by namespace, and readable in virsh."""
    name = f"{namespace_of(instance)}_{name_of(instance)}"
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 37]}-{uid_of(instance)}"


def domain_uuid(instance: Object) -> str:
    """The system's UUID: the given one, or one that stays the same whenever this machine is started."""
    given = (instance["spec"]["domain"].get("firmware") or {}).get("uuid")
    return str(given or uuid.uuid5(_NAMESPACE, f"{namespace_of(instance)}/{name_of(instance)}"))


def domain_xml(instance: Object, host: Host, disks: Sequence[Element], console: Path) -> str:
    """The domain with these disks, its first serial port on the socket `console`, and its agent's port beside it."""
    spec = instance["spec"]
    asked = spec["domain"]["devices"]
    root = Element("domain", type="kvm" if host.accelerator == "kvm" else "qemu")
    put(root, "name", domain_name(instance))
    put(root, "uuid", domain_uuid(instance))
    _add_metadata(root, instance)
    hardware.add_memory(root, spec)
    threads = _io_threads(spec, disks)
    if threads:
        put(root, "iothreads", threads)
    hardware.add_cpu(root, spec, host.cpu_model)
    hardware.add_firmware(root, spec, uid_of(instance))
    emulated = host.accelerator != "kvm"
    hardware.add_features(root, spec, emulated=emulated)
    hardware.add_clock(root, spec, emulated=emulated)
    put(root, "on_poweroff", "destroy")
    put(root, "on_reboot", "destroy" if spec["domain"].get("rebootPolicy") == "Terminate" else "restart")
    put(root, "on_crash", "destroy")
    place = put(root, "devices")
    place.extend(disks)
    devices.add_controllers(place, spec)
    devices.add_interfaces(place, spec)
    devices.add_console(place, asked, console)
    # Beside the console's, whose length was checked, and no longer.
    devices.add_agent(place, console.with_name("agent"))
    devices.add_display(place, asked)
    devices.add_small_devices(place, asked)
    if asked.get("useVirtioTransitional"):
        devices.make_transitional(place)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _add_metadata(root: Element, instance: Object) -> None:
    metadata = put(root, "metadata")
    ElementTree.register_namespace("ingot", METADATA)
    attributes = {"namespace": namespace_of(instance), "name": name_of(instance), "uid": uid_of(instance)}
    ElementTree.SubElement(metadata, f"{{{METADATA}}}instance", attributes)


@dataclass(frozen=True, slots=True)
class Origin:
    """The instance that a domain was made for, and the directory in which the domain has its sockets."""

    namespace: str
    name: str
    uid: str
    directory: Path


def origin(xml: str) -> Origin | None:
    """Where a domain comes from; None for a domain of somebody else."""
    root = ElementTree.fromstring(xml)  # noqa: S314 - libvirt's own output
    found = root.find(f"metadata/{{{METADATA}}}instance")
    if found is None:
        return None
    agent = root.find("devices/channel/source[@mode='bind']")
    directory = Path(agent.get("path", "") if agent is not None else "").parent
    return Origin(found.get("namespace", ""), found.get("name", ""), found.get("uid", ""), directory)


def instance_uid(xml: str) -> str:
    """The instance that a domain was made for; "" for a domain of somebody else."""
    found = origin(xml)
    return found.uid if found else ""


def _io_threads(spec: Object, disks: Sequence[Element]) -> int:
    """As many threads as disks refer to, and one where a policy asks for them."""
    used = [int(driver.get("iothread", "0")) for disk in disks for driver in disk.iter("driver")]
    return max([*used, 1 if spec["domain"].get("ioThreadsPolicy") else 0])
