"""The programs that guests and their disks need, and the parts of them that come in packages of their own."""

import importlib.util
import json
import platform
import re
import shutil
import sys
from pathlib import Path

from ingot.host.command import CommandFailed, Limits, run
from ingot.node.accelerator import EMULATOR
from ingot.node.doctor.check import Check, fail, install, ok, warn

# Network protocols that QEMU speaks by itself, most of them in a package of their own.
PROTOCOLS = ("nbd", "iscsi", "rbd", "gluster")
# Where the firmware that QEMU can use is described, by packages and by administrators.
FIRMWARE = (Path("/etc/qemu/firmware"), Path("/usr/share/qemu/firmware"))
_LIMITS = Limits(seconds=20)


def python() -> Check:
    """An older one than is needed would not have come here."""
    return ok("python", f"{platform.python_version()} at {sys.executable}")


async def emulator() -> Check:
    try:
        version = _version(await run([EMULATOR, "--version"], limits=_LIMITS))
        await run(["qemu-img", "--version"], limits=_LIMITS)
    except (OSError, CommandFailed) as error:
        return fail("qemu", f"no guest can run: {error}", install("qemu-system-x86", "qemu-utils"))
    return ok("qemu", f"{version} at {shutil.which(EMULATOR)}")


async def protocols() -> Check:
    """QEMU loads the driver when it is asked about its options, and connects to nothing."""
    missing = []
    for protocol in PROTOCOLS:
        try:
            await run(["qemu-img", "create", "-f", protocol, "-o", "help", "none"], limits=_LIMITS)
        except (OSError, CommandFailed):
            missing.append(protocol)
    there = ", ".join(protocol for protocol in PROTOCOLS if protocol not in missing)
    if missing:
        found = f"QEMU cannot reach disks by {', '.join(missing)}" + (f"; it can by {there}" if there else "")
        return warn("qemu protocols", found, install("qemu-block-extra"))
    return ok("qemu protocols", there)


async def libvirtd() -> Check:
    try:
        version = _version(await run(["libvirtd", "--version"], limits=_LIMITS))
    except (OSError, CommandFailed) as error:
        return fail("libvirtd", f"no guest can be started: {error}", install("libvirt-daemon"))
    return ok("libvirtd", f"{version} at {shutil.which('libvirtd')}")


def binding() -> Check:
    if importlib.util.find_spec("libvirt") is None:
        cure = f"{install('libvirt-dev', 'pkg-config', 'gcc', 'python3-dev')} && pip install 'ingot[node]'"
        return fail("libvirt-python", f"not installed for {sys.executable}; the agent cannot speak to libvirt", cure)
    from ingot.node.binding import library

    return ok("libvirt-python", f"for libvirt {_dotted(library().getVersion())}")


async def nbdkit() -> Check:
    """http, https and NBD with TLS go through it."""
    for plugin in ("curl", "nbd"):
        try:
            await run(["nbdkit", plugin, "--dump-plugin"], limits=_LIMITS)
        except (OSError, CommandFailed):
            found = f"nbdkit or its plugin {plugin} is missing: no disks by http, https, and NBD with TLS"
            return warn("nbdkit", found, install("nbdkit"))
    return ok("nbdkit", "with curl and nbd")


def firmware() -> Check:
    """libvirt takes the firmware of a guest from descriptions that its packages leave in these places."""
    for place in FIRMWARE:
        for description in sorted(place.glob("*.json")):
            try:
                told = json.loads(description.read_bytes())
            except (OSError, ValueError):
                continue
            machines = [target.get("architecture") for target in told.get("targets", ())]
            if "uefi" in told.get("interface-types", ()) and platform.machine() in machines:
                return ok("uefi firmware", str(description))
    found = "none is described in /usr/share/qemu/firmware: machines with bootloader efi do not start"
    return warn("uefi firmware", found, install("ovmf"))


def images() -> Check:
    if shutil.which("xorriso") is None:
        return warn("xorriso", "not found: no cloud-init, ConfigMap and Secret disks", install("xorriso"))
    return ok("xorriso", str(shutil.which("xorriso")))


def containers() -> Check:
    """Containers of images that are not ours are run by podman, with one of these."""
    runtime = next((found for name in ("crun", "runc") if (found := shutil.which(name))), None)
    podman = shutil.which("podman")
    if podman is None or runtime is None:
        absent = "podman" if podman is None else "an OCI runtime"
        return warn("containers", f"no {absent}: pods of foreign images do not run", install("podman", "runc"))
    return ok("containers", f"{podman} with {runtime}")


def reaper() -> Check:
    if shutil.which("tini") is None:
        found = "not found: where process 1 is slow to reap, each start and stop of a guest waits for it"
        return warn("tini", found, install("tini"))
    return ok("tini", str(shutil.which("tini")))


def _version(text: str) -> str:
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else text.strip()


def _dotted(number: int) -> str:
    """libvirt's own way to write a version: 9000000 is 9.0.0."""
    return f"{number // 1000000}.{number // 1000 % 1000}.{number % 1000}"
