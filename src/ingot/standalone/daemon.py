"""Running the server until it is told to end, in the foreground or behind the user's back."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Protocol

import uvloop

# The log starts anew when it is this large; the one before is kept beside it.
_LOG_BYTES = 10 * 1024 * 1024


class Service(Protocol):
    """What is run: `start` returns when requests are answered."""

    @property
    def address(self) -> str: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class StartError(Exception):
    """The background process did not become ready. `why` is one line."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def run(service: Service, ready: Callable[[str], None]) -> None:
    """Starts the service, calls `ready` with its address, and stops it at SIGTERM or SIGINT."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(service, ready))


async def _run(service: Service, ready: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await service.start()
    try:
        ready(service.address)
        await ended.wait()
    finally:
        await service.stop()


def detach(log: Path, work: Callable[[Callable[[str], None]], None]) -> str:
    """Runs `work` in a process without terminal or parent; returns the address it reports as ready.

    `work` gets the function to report with. Raises StartError with the reason when it ends before that: the text
    of the exception that ended it. What it prints goes to `log`.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        # The second fork: a process that leads no session can never get a terminal back.
        if os.fork() > 0:
            os._exit(0)
        _work(log, work, writing)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        report = pipe.read()
    if not report:
        raise StartError(f"the server ended before it was ready; see {log}")
    answer = json.loads(report)
    if "error" in answer:
        raise StartError(answer["error"])
    return str(answer["address"])


def _work(log: Path, work: Callable[[Callable[[str], None]], None], writing: int) -> NoReturn:
    reported = False

    def report(**answer: str) -> None:
        nonlocal reported
        if not reported:
            reported = True
            os.write(writing, json.dumps(answer).encode())
            os.close(writing)

    code = 0
    try:
        _redirect(log)
        work(lambda address: report(address=address))
    except Exception as error:
        code = 1
        sys.excepthook(type(error), error, error.__traceback__)
        report(error=str(error) or type(error).__name__)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _redirect(log: Path) -> None:
    """Standard input reads nothing; what is printed goes to the log."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = open_log(log)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)


def open_log(log: Path) -> int:
    """A descriptor that adds to the log, which only the owner may read; a large one is put aside first."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
