"""The devices of a domain besides its disks."""

import ipaddress
import re
from pathlib import Path
from xml.etree.ElementTree import Element

from ingot.api.object import Object
from ingot.node.domain.element import put

DEFAULT_WATCHDOG_ACTION = "reset"


def add_controllers(devices: Element, spec: Object) -> None:
    """The SCSI controller that LUNs and scsi disks hang on; libvirt adds all others by itself."""
    buses = {target.get("bus") for disk in devices.iter("disk") for target in disk.iter("target")}
    if "scsi" in buses:
        controller = put(devices, "controller", type_="scsi", index=0, model="virtio-scsi")
        if spec["domain"].get("ioThreadsPolicy"):
            put(controller, "driver", iothread=1)


def add_console(devices: Element, asked: Object, socket: Path) -> None:
    """The first serial port, on a unix socket that libvirt makes and QEMU listens on."""
    if asked.get("autoattachSerialConsole") is False:
        return
    serial = put(devices, "serial", type_="unix")
    put(serial, "source", mode="bind", path=str(socket))
    put(serial, "target", port=0)
    console = put(devices, "console", type_="unix")
    put(console, "source", mode="bind", path=str(socket))
    put(console, "target", type_="serial", port=0)


def add_display(devices: Element, asked: Object) -> None:
    """A display that is reached through libvirt only: QEMU opens no socket for it."""
    if asked.get("autoattachGraphicsDevice") is False:
        put(put(devices, "video"), "model", type_="none")
        return
    put(put(devices, "graphics", type_="vnc"), "listen", type_="none")
    model = (asked.get("video") or {}).get("type") or "vga"
    put(put(devices, "video"), "model", type_=model, heads=1)


def add_agent(devices: Element, socket: Path) -> None:
    """The port on which the guest's agent answers, if it has one, to libvirt."""
    channel = put(devices, "channel", type_="unix")
    put(channel, "source", mode="bind", path=str(socket))
    put(channel, "target", type_="virtio", name="org.qemu.guest_agent.0")


def add_interfaces(devices: Element, spec: Object) -> None:
    """Network cards on QEMU's own user networking: behind address translation, and without any privilege."""
    networks = {network["name"]: network.get("pod") or {} for network in spec.get("networks") or ()}
    for interface in spec["domain"]["devices"].get("interfaces") or ():
        if interface.get("state") == "absent":
            continue
        card = put(devices, "interface", type_="user")
        _add_network(card, networks.get(interface["name"]) or {})
        if address := interface.get("macAddress"):
            put(card, "mac", address=address.replace("-", ":").lower())
        put(card, "model", type_=interface.get("model", "virtio"))
        if order := interface.get("bootOrder"):
            put(card, "boot", order=order)
        if interface.get("state") == "down":
            put(card, "link", state="down")
        # No option ROM: network boot waits half a minute for a server that is not there.
        elif not interface.get("bootOrder"):
            put(card, "rom", enabled="no")
        if number := interface.get("acpiIndex"):
            put(card, "acpi", index=number)
        put(card, "alias", name=f"ua-{interface['name']}")
        if address := interface.get("pciAddress"):
            domain, bus, slot, function = re.split("[:.]", address)
            place = {"domain": domain, "bus": bus, "slot": slot, "function": function}
            put(card, "address", type_="pci", **{key: f"0x{part}" for key, part in place.items()})


def _add_network(card: Element, pod: Object) -> None:
    """The addresses of the guest's side; QEMU's own choice unless told."""
    for family, key in (("ipv4", "vmNetworkCIDR"), ("ipv6", "vmIPv6NetworkCIDR")):
        if given := pod.get(key):
            network = ipaddress.ip_network(given, strict=False)
            put(card, "ip", family=family, address=str(network.network_address), prefix=network.prefixlen)


def add_small_devices(devices: Element, asked: Object) -> None:
    """What has little to configure: inputs, random numbers, watchdog, sound, balloon, panic."""
    inputs = asked.get("inputs") or ()
    if asked.get("autoattachInputDevice") and not inputs:
        inputs = ({"type": "tablet"},)
    for device in inputs:
        put(devices, "input", type_=device["type"], bus=device.get("bus", "usb"))
    if "rng" in asked:
        put(put(devices, "rng", model="virtio"), "backend", "/dev/urandom", model="random")
    if watchdog := asked.get("watchdog"):
        action = (watchdog.get("i6300esb") or {}).get("action", DEFAULT_WATCHDOG_ACTION)
        put(devices, "watchdog", model="i6300esb", action=action)
    if sound := asked.get("sound"):
        put(devices, "sound", model=sound.get("model", "ich9"))
    for panic in asked.get("panicDevices") or ():
        put(devices, "panic", model=panic.get("model", "isa"))
    model = "none" if asked.get("autoattachMemBalloon") is False else "virtio"
    put(devices, "memballoon", model=model)


def make_transitional(devices: Element) -> None:
    """All virtio devices speak virtio 0.9 too, for guests that know no other."""
    spoken = "virtio-transitional"
    for disk in devices.findall("disk/target[@bus='virtio']/.."):
        disk.set("model", spoken)
    for model in devices.findall("interface/model[@type='virtio']"):
        model.set("type", spoken)
    for device in devices.findall("*[@model='virtio']") + devices.findall("controller[@model='virtio-scsi']"):
        device.set("model", spoken)
