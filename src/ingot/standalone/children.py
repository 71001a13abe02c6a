"""The processes that the server of one machine keeps running beside it: started again when they end, ended with it."""

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ingot.host.files import write_atomically
from ingot.host.parent import end_with
from ingot.host.process import Process
from ingot.standalone.daemon import Service, open_log

log = logging.getLogger(__name__)

# A child ends with this code when a person must mend something first; the last line of its log says what.
NEEDS_MENDING = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
MENDING_PAUSE = 30.0
# A child that lived this long had started well: its end counts as its first.
GOOD_SECONDS = 30.0
STOP_SECONDS = 25.0
_PARENT = "INGOT_PARENT"
_LINE = 2000


@dataclass(frozen=True, slots=True)
class Child:
    """A child by its name, which its log and its record have too, and the command that it is."""

    name: str
    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a child. `state` is Running, Restarting or NeedsMending; `message` says why it does not run."""

    state: str
    pid: int
    born: int
    since: float
    restarts: int
    message: str = ""


class Children:
    """Runs each child until `stop`.

    One that ends is started again after a pause, which doubles while it keeps ending soon. What is known of it is in
    DIR/NAME.json, what it prints in DIR/NAME.log.
    """

    def __init__(self, directory: Path, children: Sequence[Child]) -> None:
        self._directory = directory
        self._children = children
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._keep(child)) for child in self._children]

    async def stop(self) -> None:
        """Ends them all: SIGTERM, and SIGKILL for those that are still there after 25 s."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for child in self._children:
            _record_path(self._directory, child.name).unlink(missing_ok=True)

    async def _keep(self, child: Child) -> None:
        pause, restarts = FIRST_PAUSE, 0
        while True:
            began = time.monotonic()
            code = await self._run(child, restarts)
            if time.monotonic() - began >= GOOD_SECONDS:
                pause = FIRST_PAUSE
            wait = MENDING_PAUSE if code == NEEDS_MENDING else pause
            self._tell(child, code, wait, restarts)
            await asyncio.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE)
            restarts += 1

    async def _run(self, child: Child, restarts: int) -> int:
        """Runs the child once; its exit code. Cancelled, it ends the child first."""
        output = open_log(self._log(child))
        try:
            process = await asyncio.create_subprocess_exec(
                *child.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, _PARENT: str(os.getpid())},
                # Ctrl-C at the terminal is for the server, which ends its children in order.
                start_new_session=True,
            )
        finally:
            os.close(output)
        try:
            identity = Process.of(process.pid)
            self._write(child, State("Running", identity.pid, identity.born, time.time(), restarts))
            return await process.wait()
        except asyncio.CancelledError:
            await _end(process)
            raise

    def _tell(self, child: Child, code: int, wait: float, restarts: int) -> None:
        if code == NEEDS_MENDING:
            state, why = "NeedsMending", _last_line(self._log(child)) or f"see {self._log(child)}"
        else:
            state, why = "Restarting", f"it ended with {_ending(code)}; see {self._log(child)}"
        log.error("%s: %s; started again in %g s", child.name, why, wait)
        self._write(child, State(state, 0, 0, time.time(), restarts, why))

    def _write(self, child: Child, state: State) -> None:
        write_atomically(_record_path(self._directory, child.name), json.dumps(asdict(state)).encode())

    def _log(self, child: Child) -> Path:
        return self._directory / f"{child.name}.log"


class Parent:
    """A service with children: they start after it and end before it."""

    def __init__(self, service: Service, children: Children) -> None:
        self._service = service
        self._children = children

    @property
    def address(self) -> str:
        return self._service.address

    async def start(self) -> None:
        await self._service.start()
        self._children.start()

    async def stop(self) -> None:
        await self._children.stop()
        await self._service.stop()


def state_of(directory: Path, name: str) -> State | None:
    """What the server of the directory last wrote about a child; None when it has none of that name."""
    try:
        content: dict[str, Any] = json.loads(_record_path(directory, name).read_bytes())
        state = State(**content)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    if state.state == "Running" and not Process(state.pid, state.born).alive:
        return State("Restarting", 0, 0, time.time(), state.restarts, "it has just ended")
    return state


def down_seconds(directory: Path, name: str) -> float:
    """For how long a child that should run has not; 0 for one that runs, whoever started it, or that nobody wants."""
    state = state_of(directory, name)
    if state is None or state.state == "Running" or _is_held(directory / f"{name}.lock"):
        return 0.0
    return max(0.0, time.time() - state.since)


def _is_held(lock: Path) -> bool:
    """Whether some process has the right to be the directory's one of that name."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def die_with_parent() -> None:
    """Called by a child at its start: it is killed when the server that started it ends, however that ends."""
    parent = os.environ.pop(_PARENT, "")
    if parent:
        end_with(int(parent))


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LINE))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("Error: ") if lines else ""


def _record_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.json"
