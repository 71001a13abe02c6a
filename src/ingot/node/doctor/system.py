"""What the kernel gives: virtualisation, loop devices, namespaces, limits; and the user that QEMU runs as."""

import getpass
import grp
import os
import pwd
import resource
from pathlib import Path

from ingot.host.command import CommandFailed, Limits, run
from ingot.node.accelerator import DEVICE, Accelerator
from ingot.node.doctor.check import Check, as_root, fail, is_root, ok, warn
from ingot.node.libvirt_home import QEMU_USER

# A guest's QEMU has some dozens of files and sockets, and libvirtd a few for each guest.
FEW_FILES = 4096


def qemu_user() -> Check:
    if not is_root():
        return ok("qemu user", f"guests run as {getpass.getuser()}")
    try:
        pwd.getpwnam(QEMU_USER)
    except KeyError:
        cure = f"adduser --system --group --no-create-home {QEMU_USER}"
        return fail("qemu user", f"{QEMU_USER} does not exist: as root, guests are run as that user", cure)
    return ok("qemu user", QEMU_USER)


def kvm_device() -> Check:
    if not DEVICE.exists():
        cure = f"turn on virtualisation in the firmware or at the host, then {as_root('modprobe kvm_intel')} or kvm_amd"
        return warn("kvm device", f"there is no {DEVICE}", cure)
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return warn("kvm device", f"{getpass.getuser()} may not open {DEVICE}", _access_to(DEVICE))
    return ok("kvm device", f"{DEVICE} can be opened")


def _access_to(device: Path) -> str:
    status = device.stat()
    group = grp.getgrgid(status.st_gid).gr_name
    if status.st_mode & 0o060 == 0o060 and group != "root":
        return f"{as_root(f'adduser {getpass.getuser()} {group}')}, then log in again"
    return f"{as_root(f'chgrp kvm {device}')} && {as_root(f'chmod 660 {device}')}"


def acceleration(chosen: Accelerator) -> Check:
    if chosen.name == "kvm":
        return ok("accelerator", f"kvm: {chosen.evidence}")
    found = f"guests are emulated, much slower than with KVM: {chosen.evidence}"
    return warn("accelerator", found, "use a machine with virtualisation, or turn it on at the host of this one")


def loop_devices() -> Check:
    if not is_root():
        return warn("loop devices", "only root can make block volumes; filesystem volumes work", "run ingot up as root")
    if not Path("/dev/loop-control").exists():
        return warn("loop devices", "there is no /dev/loop-control: no block volumes", "modprobe loop")
    return ok("loop devices", "block volumes can be made")


async def user_namespaces() -> Check:
    if is_root():
        return ok("user namespaces", "not needed by root")
    try:
        await run(["unshare", "--user", "true"], limits=Limits(seconds=10))
    except (OSError, CommandFailed) as error:
        cure = as_root("sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1")
        return warn("user namespaces", f"pods of foreign images do not run without root: {error}", cure)
    return ok("user namespaces", "can be made without root")


def open_files() -> Check:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < FEW_FILES:
        cure = f"ulimit -n {FEW_FILES}, or a higher nofile in /etc/security/limits.conf"
        return warn("open files", f"at most {most} in a process: too few for many guests", cure)
    return ok("open files", "no limit" if most == resource.RLIM_INFINITY else f"up to {most} in a process")


def mounts() -> Check:
    """Root's libvirtd is in a mount namespace of its own, which sees later mounts only where they are shared."""
    if not is_root():
        return ok("mounts", "guests see what you see")
    line = next(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if line.split()[4] == "/")
    if "shared:" not in line:
        found = "what is mounted while guests run is not seen by new ones until libvirtd is started again"
        return warn("mounts", found, "mount --make-shared /")
    return ok("mounts", "later mounts are seen by guests")
