"""The order in which a boot will read a disk, found out by reading what it will read.

A Linux on ext4 is foretold from its loader to its services. Of one on another filesystem kernel and initrd are, where
these are on an ext4 of their own.
"""

import contextlib
import logging
import re

from ingot.images.boot.drivers import drivers
from ingot.images.boot.ext import Ext
from ingot.images.boot.noted import NotedDisk, Unreadable
from ingot.images.boot.partitions import partitions
from ingot.images.boot.programs import Programs
from ingot.images.boot.units import programs
from ingot.images.content import Content

log = logging.getLogger(__name__)

# Boot loaders lie before the first partition.
_LOADER = 1 << 20
_KERNEL = re.compile(r"vmlinu[xz]-(.+)")
_INITRDS = ("initrd.img-{}", "initramfs-{}.img", "initramfs-{}", "initrd-{}")
_GRUB = ("/boot/grub/grub.cfg", "/boot/grub2/grub.cfg", "/grub/grub.cfg", "/grub2/grub.cfg")
_INIT = "/sbin/init"
# Every systemd has these started, or starts them before it knows of any unit.
_EARLY = ("/usr/lib/systemd/system-generators", "/lib/systemd/system-generators")
_ALWAYS = (
    *("/bin/sh", "/usr/bin/udevadm", "/usr/bin/kmod", "/usr/bin/mount"),
    *("/usr/lib/systemd/systemd-fsck", "/usr/sbin/fsck", "/usr/sbin/fsck.ext4", "/usr/sbin/agetty"),
    *("/usr/lib/udev/cdrom_id", "/usr/lib/udev/dmi_memory_id"),
)
_LOGIN = ("/bin/login", "/bin/bash")
_TABLES = ("modules.dep.bin", "modules.alias.bin", "modules.symbols.bin", "modules.builtin.bin", "modules.softdep")
_LISTS = (
    *(
        "/usr/lib/udev/rules.d",
        "/usr/lib/tmpfiles.d",
        "/usr/lib/sysusers.d",
        "/usr/lib/sysctl.d",
        "/usr/lib/modprobe.d",
    ),
    *("/etc/udev/rules.d", "/etc/tmpfiles.d", "/etc/sysctl.d", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/init.d"),
    *("/usr/lib/systemd/network", "/usr/share/dbus-1/system.d", "/usr/share/dbus-1/system-services"),
    *("/etc/pam.d", "/etc/security", "/etc/profile.d"),
)
_FILES = (
    *("/etc/ld.so.cache", "/etc/fstab", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime"),
    *("/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache"),
    *("/usr/share/zoneinfo/Etc/UTC", "/usr/share/dbus-1/system.conf", "/usr/lib/udev/hwdb.bin"),
)


def boot_order(disk: Content) -> list[int]:
    """The numbers of the clusters that a boot from this disk will probably read, in its order; none where nothing can
    be said."""
    noted = NotedDisk(disk)
    found = False
    try:
        noted.read(0, min(_LOADER, disk.size))
        for start in partitions(noted):
            with contextlib.suppress(Unreadable):
                found |= _boot(Ext(noted, start))
    except Unreadable as error:
        log.debug("no boot is foretold: %s", error)
    return list(noted.clusters) if found else []


def _boot(files: Ext) -> bool:
    """Reads what a boot reads of a filesystem; whether there is anything to boot. Raises Unreadable."""
    version = _kernel(files)
    with contextlib.suppress(Unreadable):
        files.mount()
    if (files.find(_INIT)) is None:
        return version is not None
    with contextlib.suppress(Unreadable):
        _system(files, version)
    return True


def _kernel(files: Ext) -> str | None:
    """Reads the newest kernel and its initrd; which version that is."""
    for path in _GRUB:
        _read(files, path)
    for directory in ("/boot", ""):
        names = files.names_in(directory)
        versions = [found[1] for name in names if (found := _KERNEL.fullmatch(name)) and "rescue" not in name]
        if versions:
            newest = max(versions, key=_parts)
            for name in names:
                if name.endswith(f"-{newest}") and _KERNEL.fullmatch(name):
                    _read(files, f"{directory}/{name}")
            for form in _INITRDS:
                _read(files, f"{directory}/{form.format(newest)}")
            return newest
    return None


def _system(files: Ext, version: str | None) -> None:
    """Reads what is started, and what that reads."""
    started = Programs(files)
    started.start(_INIT)
    for directory in _EARLY:
        for name in files.names_in(directory):
            started.start(f"{directory}/{name}")
    for path in _FILES:
        _read(files, path)
    for path in _ALWAYS:
        started.start(path)
    for name in _TABLES if version else ():
        _read(files, f"/lib/modules/{version}/{name}")
    for path in drivers(files, version) if version else ():
        _read(files, path)
    for directory in _LISTS:
        for name in files.names_in(directory):
            _read(files, f"{directory}/{name}")
    for path in programs(files):
        started.start(path)
    for path in _LOGIN:
        started.start(path)


def _read(files: Ext, path: str) -> None:
    """What cannot be read, or is too large, is none of what a boot needs most: the rest is looked at all the same."""
    with contextlib.suppress(Unreadable):
        node = files.find(path)
        if node is not None and node.is_file:
            files.visit(node)


def _parts(version: str) -> list[tuple[int, str]]:
    """For comparing versions: numbers by their value."""
    return [(int(number), "") if number else (-1, text) for number, text in re.findall("([0-9]+)|([^0-9]+)", version)]
