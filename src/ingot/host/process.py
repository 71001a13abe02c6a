"""Processes that outlive the one that started them: told from later ones of the same number, found again, ended."""

import asyncio
import contextlib
import os
import select
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its number and the moment it began, which no later process shares."""

    pid: int
    born: int

    @classmethod
    def of(cls, pid: int) -> Self:
        return cls(pid, born(pid))

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(int(record["pid"]), int(record["born"]))

    def record(self) -> dict[str, int]:
        """What to write down, for `from_record` of a later process."""
        return asdict(self)

    @property
    def alive(self) -> bool:
        """Whether it runs. A zombie does not."""
        return self.born > 0 and born(self.pid) == self.born

    def signal(self, number: int) -> bool:
        """Sends a signal to it and to no other; whether it was there to get it."""
        with self._descriptor() as descriptor:
            if descriptor is None:
                return False
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)
                return True
            return False

    async def ended(self, seconds: float | None = None) -> bool:
        """Waits until it has ended, at most `seconds`; whether it has. It need not be a child."""
        with self._descriptor() as descriptor:
            if descriptor is None:
                return True
            loop = asyncio.get_running_loop()
            done = asyncio.Event()
            loop.add_reader(descriptor, done.set)
            try:
                await asyncio.wait_for(done.wait(), seconds)
            except TimeoutError:
                return False
            finally:
                loop.remove_reader(descriptor)
            return True

    async def end(self, grace: float) -> None:
        """Ends it: SIGTERM, and SIGKILL when it is still there after `grace` seconds."""
        if self.signal(signal.SIGTERM) and not await self.ended(grace):
            self.signal(signal.SIGKILL)
            await self.ended(grace)

    @contextlib.contextmanager
    def _descriptor(self) -> Any:
        """A descriptor of the process, which the kernel never gives to another; None when it has ended."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except (ProcessLookupError, ValueError):
            yield None
            return
        try:
            yield descriptor if self.alive and not _readable(descriptor) else None
        finally:
            os.close(descriptor)


def _readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def born(pid: int) -> int:
    """The kernel's start time of a process in ticks since boot; 0 when there is none."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # The second field is the program's name in parentheses, which may hold anything; the 22nd is the start time.
    fields = content.rpartition(")")[2].split()
    return 0 if fields[0] in "ZX" else int(fields[19])


def spawn(
    command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None, directory: Path = Path("/")
) -> Process:
    """Starts a process in a session of its own, which does not end with this one. What it prints goes to `log`.

    It has no terminal and inherits no descriptor. It is nobody's child: it is forked twice, so that it leaves no
    zombie, and its end is seen through `Process.ended`. Raises OSError when the program cannot be run.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become(command, log, dict(environment if environment is not None else os.environ), directory, writing)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        pid, _, failure = pipe.read().partition(b"\n")
    if failure:
        number = int(failure)
        raise OSError(number, os.strerror(number), command[0])
    return Process.of(int(pid))


def _become(command: Sequence[str], log: Path, environment: dict[str, str], directory: Path, report: int) -> None:
    """In the forked child: forks again; the grandchild reports its number and becomes the command. Never returns."""
    try:
        os.setsid()
        between = os.getpid()
        if os.fork():
            os._exit(0)
        # A program that asks to end with its parent, as nbdkit does, must not take this one for it.
        while os.getppid() == between:
            os.sched_yield()
        # The pipe closes with exec: what follows the number is an error, and no error is success.
        os.write(report, f"{os.getpid()}\n".encode())
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(nothing, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(directory)
        os.execvpe(command[0], list(command), environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(report, str(error.errno).encode())
    finally:
        os._exit(127)
