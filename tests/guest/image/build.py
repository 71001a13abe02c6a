"""The guest of the tests: one of Debian's kernels and busybox, on a disk that also boots as a CD-ROM.

It is a hybrid ISO: the BIOS boots it on any bus, and the guest itself needs none of it afterwards. It prints READY and
gives a root shell on the serial console, with the commands in `bin` beside busybox's own. An ACPI shutdown ends it.

`python -m guest.image.build [VERSION]` prints its path; one with a version says so on its console.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from guest.image import cpio
from guest.image.kernel import CLOUD, Flavour, Kernel, kernel
from guest.image.lock import locked
from guest.image.modules import in_order
from kube.binaries import cache as ingot_cache

READY = "INGOT GUEST READY"
_HERE = Path(__file__).parent
_DIRECTORIES = ("bin", "dev", "mnt", "modules", "proc", "sys", "tmp")
_LOADER = Path("/usr/lib/ISOLINUX/isolinux.bin")
_LOADER_CORE = Path("/usr/lib/syslinux/modules/bios/ldlinux.c32")
_MASTER_BOOT_RECORD = Path("/usr/lib/ISOLINUX/isohdpfx.bin")
# Under emulation, what is left out here is most of the time that a boot takes.
_ARGUMENTS = "console=ttyS0 quiet panic=1 mitigations=off nokaslr no_timer_check raid=noautodetect audit=0 selinux=0"
_CONFIGURATION = f"""DEFAULT linux
PROMPT 0
TIMEOUT 0
LABEL linux
KERNEL /linux
INITRD /initramfs
APPEND {_ARGUMENTS}
"""


class GuestImage:
    """The bootable disk of the tests."""

    @staticmethod
    def why_not() -> str:
        """What is lacking for it on this machine, and what would mend it; "" when nothing is."""
        needed = {
            Path("/bin/busybox"): "busybox-static",
            Path("/usr/bin/xorriso"): "xorriso",
            _LOADER: "isolinux",
            _LOADER_CORE: "syslinux-common",
        }
        missing = [package for file, package in needed.items() if not file.exists()]
        return f"no guest image: apt-get install {' '.join(missing)}" if missing else ""

    @staticmethod
    def build(flavour: Flavour = CLOUD, version: str = "") -> Path:
        """The image with that kernel, made if the cache has none of the same content. It belongs to all: boot from a
        copy of it. Two versions differ by a word on the kernel's command line, which the guest says on its console."""
        home = ingot_cache()
        home.mkdir(parents=True, exist_ok=True)
        source = kernel(home, flavour)
        initramfs = _initramfs(source, flavour)
        menu = _CONFIGURATION.rstrip() + f" ingot.version={version}\n" if version else _CONFIGURATION
        parts = (source.directory.name.encode(), initramfs, menu.encode(), _LOADER.read_bytes())
        target = home / f"guest-{hashlib.sha256(b''.join(parts)).hexdigest()[:16]}.img"
        with locked(home / "guest.lock"):
            if not target.exists():
                _make(source, initramfs, menu, target)
        return target


def _initramfs(source: Kernel, flavour: Flavour) -> bytes:
    modules = in_order(source.modules, flavour.modules)
    files = {name: cpio.directory() for name in _DIRECTORIES}
    files["init"] = cpio.program((_HERE / "init").read_bytes())
    files["bin/busybox"] = cpio.program(Path("/bin/busybox").read_bytes())
    for helper in sorted((_HERE / "bin").iterdir()):
        files[f"bin/{helper.name}"] = cpio.program(helper.read_bytes())
    for module in modules:
        files[f"modules/{module.name}"] = cpio.program(module.read_bytes())
    files["modules/order"] = cpio.program("".join(f"{module.name}\n" for module in modules).encode())
    return cpio.archive(files)


def _make(source: Kernel, initramfs: bytes, menu: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        tree = Path(scratch) / "tree"
        tree.mkdir()
        shutil.copy(source.image, tree / "linux")
        (tree / "initramfs").write_bytes(initramfs)
        shutil.copy(_LOADER, tree)
        shutil.copy(_LOADER_CORE, tree)
        (tree / "isolinux.cfg").write_text(menu)
        made = Path(scratch) / "made.img"
        subprocess.run(_iso(tree, made), check=True, capture_output=True)
        made.rename(target)


def _iso(tree: Path, target: Path) -> list[str]:
    boot = ["-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"]
    record = ["-isohybrid-mbr", str(_MASTER_BOOT_RECORD)]
    return ["xorriso", "-as", "mkisofs", "-quiet", "-V", "INGOTGUEST", *boot, *record, "-o", str(target), str(tree)]


if __name__ == "__main__":
    print(GuestImage.build(version="".join(sys.argv[1:2])))
