"""`qemu-img convert`, with its progress, ended with us."""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
from collections.abc import Callable, Sequence
from functools import partial

from ingot.host.command import CommandFailed

_PERCENT = re.compile(rb"\((\d+(?:\.\d+)?)/100%\)")
# <linux/prctl.h>
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


async def convert(arguments: Sequence[str], progress: Callable[[float], None]) -> None:
    """Runs `qemu-img convert` with these arguments and tells how much is done, from 0 to 1.

    It is killed when the caller is cancelled, and when this process ends: a copy that nobody waits for must not go on
    writing. Raises CommandFailed.
    """
    process = await asyncio.create_subprocess_exec(
        "qemu-img",
        "convert",
        "-p",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=partial(_end_with, os.getpid()),
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        _, said = await asyncio.gather(_follow(process.stdout, progress), process.stderr.read())
        code = await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if code:
        raise CommandFailed("qemu-img", code, said.decode(errors="replace"))


def _end_with(parent: int) -> None:
    """In the forked child: is killed when its parent ends, which it may have done already."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


async def _follow(output: asyncio.StreamReader, progress: Callable[[float], None]) -> None:
    while text := await output.read(4096):
        if found := _PERCENT.findall(text):
            progress(float(found[-1]) / 100)
