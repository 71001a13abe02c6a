"""QEMU processes of this machine, found without libvirt: what it has forgotten may still write to a disk."""

import re
import signal
from pathlib import Path

from ingot.host.process import Process
from ingot.node.domain.hardware import INSTANCE_MARK

_PROC = Path("/proc")
# QEMU's argument for the string that its domain carries; commas and spaces end it.
_MARK = re.compile(rb"\0-smbios\0type=11,[^\0]*value=" + INSTANCE_MARK.encode() + rb"([0-9A-Za-z-]+)")


def emulators() -> dict[str, Process]:
    """The QEMU processes of this machine's instances, by the uids of those; of all Ingots that there are."""
    found = {}
    for place in _PROC.iterdir():
        if not place.name.isdecimal():
            continue
        try:
            command = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if mark := _MARK.search(command):
            found[mark[1].decode()] = Process.of(int(place.name))
    return {uid: process for uid, process in found.items() if process.alive}


def end_emulator(uid: str) -> Process | None:
    """Ends the QEMU of that instance at once, whatever it does and whether libvirt knows it; None if there is none."""
    process = emulators().get(uid)
    if process is not None:
        process.signal(signal.SIGKILL)
    return process
