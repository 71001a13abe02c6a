"""Debian's kernels for guests: a package is unpacked in the cache, and never installed on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from guest.image.lock import locked

# Disks and CD-ROMs on virtio, SCSI and IDE, filesystems, and the power button.
_MODULES = (
    "virtio_pci",
    "virtio_blk",
    "virtio_scsi",
    "sd_mod",
    "sr_mod",
    "ata_piix",
    "isofs",
    "vfat",
    "nls_ascii",
    "nls_cp437",
    "evdev",
    "button",
)
# Directories of modules that no guest of the tests loads, which are most of a package.
_UNUSED = ("sound", "net", *(f"drivers/{name}" for name in ("gpu", "infiniband", "media", "net")))

# Releases that hang: with 6.1.192 a file on ext4 is truncated for ever after it was synced once and its pages dropped.
_BROKEN = ("6.1.0-55",)


@dataclass(frozen=True)
class Flavour:
    """A kernel that Debian has: the package that leads to the newest one, what names end with, modules to load."""

    package: str
    ending: re.Pattern[str]
    modules: tuple[str, ...]


# The cloud kernel boots in half the time, and knows neither SATA nor USB; ext4 is built in to it.
CLOUD = Flavour("linux-image-cloud-amd64", re.compile(r"\d-cloud-amd64$"), _MODULES)
GENERIC = Flavour(
    "linux-image-amd64",
    re.compile(r"\d-amd64$"),
    (*_MODULES, "crc32c_generic", "ext4", "ahci", "xhci_pci", "usb_storage"),
)


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    directory: Path

    @property
    def image(self) -> Path:
        return next(self.directory.glob("boot/vmlinuz-*"))

    @property
    def modules(self) -> Path:
        return next(self.directory.glob("lib/modules/*"))


def _works(name: str) -> bool:
    return not any(f"-{release}-" in name for release in _BROKEN)


def kernel(cache: Path, flavour: Flavour = CLOUD) -> Kernel:
    """The newest kernel of the cache; where it has none, the newest that apt knows is fetched into it first."""
    with locked(cache / "guest-kernel.lock"):
        found = (path for path in cache.glob("guest-kernel-*") if flavour.ending.search(path.name))
        there = sorted(path for path in found if _works(path.name))
        return Kernel(there[-1] if there else _fetch(cache, flavour))


def _fetch(cache: Path, flavour: Flavour) -> Path:
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        name = _download(flavour, Path(scratch))
        package = next(Path(scratch).glob("*.deb"))
        unpacked = Path(scratch) / "unpacked"
        subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        shutil.rmtree(unpacked / "usr", ignore_errors=True)
        for unused in _UNUSED:
            shutil.rmtree(Kernel(unpacked).modules / "kernel" / unused, ignore_errors=True)
        return unpacked.rename(cache / f"guest-kernel-{name.removeprefix('linux-image-')}")


def _newest(flavour: Flavour) -> str:
    answer = subprocess.run(["apt-cache", "depends", flavour.package], capture_output=True, text=True)
    found = re.search(r"^\s*Depends: (linux-image-\S+)$", answer.stdout, re.MULTILINE)
    if found is None:
        raise FileNotFoundError(f"apt knows no {flavour.package}: run `apt-get update`")
    return found[1] if _works(found[1]) else _before(found[1])


def _before(name: str) -> str:
    """The newest kernel of the same series that works, where the newest of all does not."""
    head, number, tail = re.findall(r"^(.+-)(\d+)(-.*amd64)$", name)[0]
    known = subprocess.run(["apt-cache", "pkgnames", head], check=True, capture_output=True, text=True).stdout.split()
    older = (f"{head}{each}{tail}" for each in range(int(number) - 1, 0, -1))
    found = next((each for each in older if each in known and _works(each)), None)
    if found is None:
        raise FileNotFoundError(f"apt knows no kernel before {name}, which hangs")
    return found


def _download(flavour: Flavour, directory: Path) -> str:
    """Fetches the newest package; its name. Lists that are older than the archive name files that are gone: as root
    they are renewed."""
    name = _newest(flavour)
    command = ["apt-get", "download", "-q"]
    if subprocess.run([*command, name], cwd=directory, capture_output=True).returncode == 0:
        return name
    if os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-q"], check=True, capture_output=True)
        name = _newest(flavour)
        subprocess.run([*command, name], cwd=directory, check=True, capture_output=True)
        return name
    raise FileNotFoundError(f"apt could not fetch {name}: run `apt-get update` as root")
