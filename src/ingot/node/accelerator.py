"""How guests run on this machine, KVM or emulation: chosen by what a probe guest did, and not by what is promised."""

import hashlib
import json
import os
import platform
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from ingot.host.command import CommandFailed, CommandTimeout, Limits, run
from ingot.host.files import write_atomically
from ingot.node.boot_sector import REACHED, boot_sector

EMULATOR = "qemu-system-x86_64"
NAMES = ("kvm", "tcg")
DEVICE = Path("/dev/kvm")
# A probe guest under a KVM that works ends in 0.3 s.
PROBE_SECONDS = 5.0
# What guests see that ask for no model of CPU. Emulated, the smallest model boots a tenth faster, but the systems of
# today want the instructions of x86-64-v2 and v3, which it has not.
CPU_MODELS = {"kvm": "host-passthrough", "tcg": "maximum"}


@dataclass(frozen=True, slots=True)
class Accelerator:
    """`name` is kvm or tcg, `evidence` why, and `cpu_model` what guests see that ask for none."""

    name: str
    evidence: str

    @property
    def cpu_model(self) -> str:
        return CPU_MODELS[self.name]


class AcceleratorError(Exception):
    """An accelerator that was asked for by name and cannot be had."""


async def choose(directory: Path | None, wanted: str | None = None) -> Accelerator:
    """The accelerator to use; what the probe guest did is remembered in the directory, if any, until the next boot.

    `wanted` overrides the choice. Raises AcceleratorError, naming the evidence, when it is kvm and that does not work.
    A KVM on a CPU without hardware for it is tried only then.
    """
    if wanted is not None and wanted not in NAMES:
        raise AcceleratorError(f"accelerator {wanted}: must be one of {', '.join(NAMES)}")
    if wanted == "tcg":
        return Accelerator("tcg", "asked for by name")
    why_not = _obstacle() or ("" if wanted == "kvm" else _lack_of_hardware())
    found = Accelerator("tcg", why_not) if why_not else await (_remembered(directory) if directory else _probe())
    if wanted == "kvm" and found.name != "kvm":
        raise AcceleratorError(f"accelerator kvm: {found.evidence}; use tcg, or leave the choice to the node")
    return found


def _obstacle() -> str:
    """What rules KVM out without a probe; "" when nothing does."""
    if platform.machine() != "x86_64":
        return f"guests are x86_64 and this machine is {platform.machine()}"
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return f"there is no {DEVICE}"
    except OSError as error:
        return f"{DEVICE} cannot be opened: {error.strerror}"
    return ""


def _lack_of_hardware() -> str:
    processor = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    flags = next((line.split() for line in processor.splitlines() if line.startswith("flags")), [])
    return "" if {"vmx", "svm"} & set(flags) else "the CPU has neither vmx nor svm"


async def _remembered(directory: Path) -> Accelerator:
    path = directory / "accelerator.json"
    key = _key()
    found = _recall(path, key)
    if found is None:
        found = await _probe()
        write_atomically(path, json.dumps({"key": key, **asdict(found)}).encode())
    return found


def _recall(path: Path, key: str) -> Accelerator | None:
    """What was written down under this key. A record that is damaged is none."""
    try:
        record = json.loads(path.read_text())
        return Accelerator(record["name"], record["evidence"]) if record["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        path.parent.mkdir(parents=True, exist_ok=True)
        return None


def _key() -> str:
    """Changes with everything that may change the probe's result: the boot, QEMU, the CPU."""
    emulator = shutil.which(EMULATOR)
    program = Path(emulator).stat() if emulator else None
    volatile = ("cpu MHz", "bogomips")
    processor = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    parts = [
        Path("/proc/sys/kernel/random/boot_id").read_text(),
        f"{emulator} {program.st_mtime_ns} {program.st_size}" if program else "",
        *(line for line in processor if not line.startswith(volatile)),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


async def _probe() -> Accelerator:
    """Boots a guest of one sector under KVM. Under one that fails, QEMU may stay with the guest standing still."""
    with tempfile.NamedTemporaryFile(prefix="ingot-probe-") as file:
        file.write(boot_sector())
        file.flush()
        try:
            await run(probe_command(file.name, "kvm"), limits=Limits(seconds=PROBE_SECONDS))
        except CommandTimeout:
            return Accelerator("tcg", f"a probe guest hung under KVM for {PROBE_SECONDS:g} s")
        except CommandFailed as error:
            if error.code == REACHED:
                return Accelerator("kvm", "a probe guest ran under KVM")
            said = error.stderr.rpartition("\n")[2] or f"exit {error.code}"
            return Accelerator("tcg", f"a probe guest did not run under KVM: {said}")
        except OSError as error:
            return Accelerator("tcg", f"{EMULATOR} cannot be run: {error.strerror}")
    return Accelerator("tcg", "a probe guest ended under KVM before it had run")


def probe_command(sector: str, accelerator: str) -> list[str]:
    # fmt: off
    return [
        EMULATOR, "-accel", accelerator, "-machine", "pc", "-m", "16", "-nodefaults", "-no-user-config",
        "-display", "none", "-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04",
        "-drive", f"file={sector},format=raw,if=ide", "-boot", "c",
    ]
    # fmt: on
