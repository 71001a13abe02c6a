"""Running a program to its end, with bounds: time, memory, CPU and output."""

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

# What is kept of the output; a program that says more is not worth reading.
MOST_OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` of wall time; `cpu` seconds and `memory` bytes of address space, 0 for none."""

    seconds: float = 60.0
    cpu: int = 0
    memory: int = 0


class CommandFailed(Exception):
    """A program that ended badly: `program`, its exit `code` (negative: the signal), what it said on `stderr`."""

    def __init__(self, program: str, code: int, stderr: str) -> None:
        super().__init__(f"{program}: {stderr.strip() or f'exit {code}'}")
        self.program = program
        self.code = code
        self.stderr = stderr.strip()


class CommandTimeout(CommandFailed):
    """A program that did not end in time, and was killed."""

    def __init__(self, program: str, seconds: float) -> None:
        super().__init__(program, -9, f"did not end in {seconds:g} s")


async def run(
    command: Sequence[str],
    *,
    limits: Limits | None = None,
    input: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> str:
    """What the program prints. Raises CommandFailed, CommandTimeout, and OSError when it cannot be started.

    It is killed with its wall time over, and when the caller is cancelled, and so is all that it has started.
    """
    bounds = limits or Limits()
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if input else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
            preexec_fn=partial(_restrict, bounds) if bounds.cpu or bounds.memory else None,
        )
    )
    try:
        process = await asyncio.shield(starting)
        out, err = await asyncio.wait_for(process.communicate(input or None), bounds.seconds)
    except TimeoutError:
        raise CommandTimeout(command[0], bounds.seconds) from None
    finally:
        # A start that the caller is cancelled in goes on: only a process that is known can be killed with its own.
        process = await starting
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        raise CommandFailed(command[0], process.returncode, err[:MOST_OUTPUT].decode(errors="replace"))
    return out[:MOST_OUTPUT].decode(errors="replace")


def _restrict(bounds: Limits) -> None:
    if bounds.cpu:
        resource.setrlimit(resource.RLIMIT_CPU, (bounds.cpu, bounds.cpu))
    if bounds.memory:
        resource.setrlimit(resource.RLIMIT_AS, (bounds.memory, bounds.memory))
