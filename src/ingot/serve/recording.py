"""A boot that is watched: a guest reads a disk, and what it reads is remembered by the disk."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ingot.host.parent import end_with
from ingot.host.scratch import ScratchDirectory
from ingot.images.content import Content
from ingot.images.fault import ImageFault
from ingot.serve.single import single

_NBD = "{nbd}"
_END_SECONDS = 10.0
# Of what a guest says, the marker is looked for in so much.
_KEPT = 1 << 16


@dataclass(frozen=True, slots=True)
class Boot:
    """`command`: what boots, with {nbd} where the disk's URI goes; empty for a QEMU of our own, with `memory` MiB. It
    ends by itself, after `seconds`, or when it prints `marker`."""

    command: Sequence[str] = ()
    seconds: float = 120.0
    marker: str = ""
    memory: int = 1024


def watch(disk: Content, boot: Boot) -> str:
    """Boots the disk; why it was over: `ended`, `marker` or `time`. Raises ImageFault and OSError."""
    with (
        ScratchDirectory("ingot-trace-") as scratch,
        single(disk, scratch.path / "socket") as uri,
    ):
        command = [word.replace(_NBD, uri) for word in boot.command] or _qemu(uri, boot.memory)
        return _run(command, boot)


def _qemu(uri: str, memory: int) -> list[str]:
    """A machine without devices other than its disk and a serial console. What it writes to the disk is forgotten."""
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-m", str(memory), "-nodefaults"),
        *("-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-drive", f"file={uri},format=raw,if=virtio,snapshot=on"),
    ]


def _run(command: Sequence[str], boot: Boot) -> str:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(end_with, os.getpid()),
        )
    except FileNotFoundError:
        raise ImageFault(command[0], "NoProgram", "it is not there: install it, or name another command") from None
    try:
        end, said = _listen(process, boot)
    finally:
        _end(process)
    if end == "ended" and process.returncode:
        words = said.decode(errors="replace").strip()[-500:] or "it said nothing"
        raise ImageFault(command[0], "BootFailed", f"it ended with {process.returncode}: {words}")
    return end


def _listen(process: subprocess.Popen[bytes], boot: Boot) -> tuple[str, bytes]:
    assert process.stdout is not None
    deadline = time.monotonic() + boot.seconds
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                break
            data = os.read(process.stdout.fileno(), _KEPT)
            if not data:
                try:
                    process.wait(max(deadline - time.monotonic(), 0.1))
                except subprocess.TimeoutExpired:
                    # It has closed its output, or sent it elsewhere, and goes on.
                    break
                return "ended", said
            said = (said + data)[-_KEPT:]
            if boot.marker and boot.marker.encode() in said:
                return "marker", said
    return "time", said


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it with all that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
            break
    assert process.stdout is not None
    process.stdout.close()
