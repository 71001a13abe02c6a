"""Modules of the kernel that a Linux in a virtual machine loads from its disk, after those in its initrd."""

import posixpath

from ingot.images.boot.ext import Ext
from ingot.images.boot.noted import Unreadable

# What systemd asks for, what it loads for the devices of a QEMU, and for CPUs that can have guests themselves.
_ASKED = ("autofs4", "ip_tables", "configfs", "dm_mod", "efi_pstore", "fuse", "loop", "drm", "vsock")
_DEVICES = ("button", "evdev", "serio_raw", "psmouse", "qemu_fw_cfg", "virtio_net", "virtio_rng", "virtio_balloon")
_PROCESSORS = ("acpi_cpufreq", "kvm", "kvm_amd", "kvm_intel")
_MOST_TABLE = 8 << 20


def drivers(files: Ext, version: str) -> list[str]:
    """Their paths, with those that they need, for the kernel of that version; none where it has no table of them."""
    directory = f"/lib/modules/{version}"
    needed: dict[str, list[str]] = {}
    try:
        table = files.find(f"{directory}/modules.dep")
        text = files.read(table, _MOST_TABLE).decode(errors="replace") if table is not None and table.is_file else ""
    except Unreadable:
        return []
    for line in text.splitlines():
        path, _, others = line.partition(":")
        name = posixpath.basename(path).partition(".ko")[0].replace("-", "_")
        if name in (*_ASKED, *_DEVICES, *_PROCESSORS):
            needed[name] = [f"{directory}/{each}" for each in (*others.split(), path)]
    named = (needed.get(name, []) for name in (*_ASKED, *_DEVICES, *_PROCESSORS))
    return list(dict.fromkeys(path for paths in named for path in paths))
