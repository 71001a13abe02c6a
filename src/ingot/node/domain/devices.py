"""The devices of a domain besides its disks."""

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


def add_interfaces(devices: Element, asked: Object) -> None:
    """Network cards on QEMU's own user networking: behind address translation, and without any privilege."""
    for interface in asked.get("interfaces") or ():
        if interface.get("state") == "absent":
            continue
        card = put(devices, "interface", type_="user")
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
        put(card, "alias", name=f"ua-{interface['name']}")


def add_small_devices(devices: Element, asked: Object) -> None:
    """What has little to configure: inputs, random numbers, watchdog, sound, balloon, panic."""
    for device in asked.get("inputs") or ():
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
