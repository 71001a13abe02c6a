"""A real Debian on a disk, and a guest that boots it: what images are measured with.

It is made from Debian's packages with mmdebstrap, once, into the cache. Its boot loader reads kernel and initrd from
the disk; the guest has started when it asks for a login on the serial console.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from guest.image.lock import locked
from kube.binaries import cache as ingot_cache

MARKER = b"ingot-bench login:"
GUEST_SECONDS = 400.0
_MINIMAL = ("dbus", "init", "kmod", "linux-image-cloud-amd64", "login", "systemd-sysv", "udev")
# Programs, libraries, archives and text: more than 2 GiB of what is on real machines.
_MORE = ("clang-14", "golang-1.19", "libreoffice-core", "llvm-14-dev", "openjdk-17-jdk-headless", "rust-src", "rustc")
_SMALL_BYTES, _LARGE_BYTES = 1 << 30, 4 << 30
_START = 1 << 20
_GRUB = Path("/usr/lib/grub/i386-pc")
_SOURCES = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
_MENU = """search --no-floppy --label --set=root ingot-bench
linux /vmlinuz root=LABEL=ingot-bench ro console=ttyS0 mitigations=off nokaslr quiet
initrd /initrd.img
boot
"""


def why_not() -> str:
    """What is lacking for it on this machine, and what would mend it; "" when nothing is."""
    needed = {"mmdebstrap": "mmdebstrap", "grub-mkimage": "grub-common", "qemu-system-x86_64": "qemu-system-x86"}
    missing = [package for program, package in needed.items() if shutil.which(program) is None]
    missing += [] if _GRUB.is_dir() else ["grub-pc-bin"]
    if missing:
        return f"no Debian disk: apt-get install {' '.join(missing)}"
    return "" if os.geteuid() == 0 else "no Debian disk: mmdebstrap needs root"


def debian_disk(large: bool = False) -> Path:
    """The raw disk, made if the cache has none of the same recipe. It belongs to all: nobody may write to it."""
    packages = (*_MINIMAL, *(_MORE if large else ()))
    size = _LARGE_BYTES if large else _SMALL_BYTES
    recipe = hashlib.sha256(repr((packages, size, _MENU)).encode()).hexdigest()[:16]
    disk = ingot_cache() / f"debian-{recipe}.raw"
    with locked(ingot_cache() / "debian.lock"):
        if not disk.exists():
            with tempfile.TemporaryDirectory(dir=ingot_cache(), prefix="debian-") as scratch:
                _build(Path(scratch), packages, size).replace(disk)
    return disk


def _build(scratch: Path, packages: Sequence[str], size: int) -> Path:
    root, disk = scratch / "root", scratch / "disk"
    sources = next(str(path) for path in _SOURCES if path.exists())
    _run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", "bookworm", root, sources)
    (root / "etc" / "hostname").write_text("ingot-bench\n")
    (root / "etc" / "fstab").write_text("LABEL=ingot-bench / ext4 defaults 0 1\n")
    with disk.open("wb") as file:
        file.truncate(size)
    where = f"offset={_START},root_owner=0:0,lazy_itable_init=0"
    blocks = str((size - _START) >> 12)
    _run("mke2fs", "-q", "-t", "ext4", "-b", "4096", "-L", "ingot-bench", "-d", root, "-E", where, disk, blocks)
    _make_bootable(scratch, disk, size)
    return disk


def _make_bootable(scratch: Path, disk: Path, size: int) -> None:
    """A partition table with one partition, and GRUB before it: its first sector loads those behind it."""
    menu, core = scratch / "menu", scratch / "core"
    menu.write_text(_MENU)
    modules = ["biosdisk", "part_msdos", "ext2", "linux", "search", "search_label", "normal", "boot"]
    _run("grub-mkimage", "-O", "i386-pc", "-d", _GRUB, "-p", "/boot/grub", "-c", menu, "-o", core, *modules)
    loader = core.read_bytes()
    if 512 + len(loader) > _START:
        raise ValueError(f"GRUB has {len(loader)} bytes, too many for the room before the partition")
    partition = struct.pack("<B3sB3sII", 0x80, b"\xfe" * 3, 0x83, b"\xfe" * 3, _START >> 9, (size - _START) >> 9)
    with disk.open("r+b") as file:
        file.write((_GRUB / "boot.img").read_bytes()[:440] + bytes(6) + partition + bytes(48) + b"\x55\xaa")
        file.write(loader)


def boot(drive: str, arguments: Sequence[str] = ()) -> float:
    """Boots a guest from a drive (QEMU's `file=`: a path, or nbd:…) under an overlay.

    Seconds until it asks for a login.
    """
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-m", "512", "-nodefaults", "-no-user-config"]
    command += ["-display", "none", "-serial", "stdio", "-no-reboot", *arguments]
    command += ["-drive", f"file={drive},format=raw,if=virtio,snapshot=on"]
    began = time.monotonic()
    guest = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        _wait(guest, began)
        return time.monotonic() - began
    finally:
        guest.kill()
        guest.wait()


def _wait(guest: subprocess.Popen[bytes], began: float) -> None:
    assert guest.stdout is not None
    os.set_blocking(guest.stdout.fileno(), False)
    said = b""
    while MARKER not in said:
        said += guest.stdout.read() or b""
        if guest.poll() is not None or time.monotonic() - began > GUEST_SECONDS:
            raise RuntimeError(f"the guest did not start: {said[-2000:].decode(errors='replace')}")
        time.sleep(0.02)


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr[-2000:]}")


if __name__ == "__main__":
    print(debian_disk())
