"""`qemu-img convert`, with its progress, ended with us."""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Sequence
from functools import partial

from ingot.host.command import CommandFailed
from ingot.host.descriptor import Descriptor
from ingot.host.parent import end_with

_PERCENT = re.compile(rb"\((\d+(?:\.\d+)?)/100%\)")


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
        preexec_fn=partial(end_with, os.getpid()),
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


async def fill(file: Descriptor, size: int, source: Sequence[str], progress: Callable[[float], None]) -> None:
    """Makes a plain file that is open for writing a raw image of that size, with what the arguments `source` name and
    with its holes, whatever was in it. The rest is as with `convert`."""
    for length in (0, size):
        os.ftruncate(file.fileno(), length)
    await convert(["-n", "--target-is-zero", "-O", "raw", *source, str(file.path)], progress)


async def _follow(output: asyncio.StreamReader, progress: Callable[[float], None]) -> None:
    while text := await output.read(4096):
        if found := _PERCENT.findall(text):
            progress(float(found[-1]) / 100)
