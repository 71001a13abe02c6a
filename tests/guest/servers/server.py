"""What all servers of the tests have in common: a directory, a process or several, a port on loopback."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from kube.process import Process

START_TIMEOUT = 60.0
HOST = "127.0.0.1"


class LoopbackServer(ABC):
    """Answers once started, and leaves nothing behind when stopped. Started again, it is another of its kind."""

    # The programs that it runs, and the Debian packages that have them.
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._stack = ExitStack()

    @classmethod
    def why_not(cls) -> str:
        """What is lacking for it on this machine, and what would mend it; "" when nothing is."""
        missing = [program for program in cls.programs if not shutil.which(program)]
        return f"no {', '.join(missing)}: apt-get install {' '.join(cls.packages)}" if missing else ""

    def start(self) -> Self:
        with ExitStack() as stack:
            # A short path: the address of a unix socket has 108 bytes.
            self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ingot-")))
            self.directory.chmod(0o755)
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def stop(self) -> None:
        self._stack.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def _start(self, stack: ExitStack) -> None:
        """Starts it below `directory`, and puts on the stack what ends it."""

    def run(self, stack: ExitStack, command: list[str]) -> Process:
        """A process of this server, its log in the directory."""
        name = Path(command[0]).name
        return stack.enter_context(Process(name, command, self.directory / f"{name}.log"))


def wait_until(ready: Callable[[], bool], process: Process, timeout: float = START_TIMEOUT) -> None:
    """Waits until the server answers. Raises ProcessEnded when it has ended, and TimeoutError."""
    deadline = time.monotonic() + timeout
    while not ready():
        process.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{process.name} did not answer in {timeout:g} s\n{process.tail()}")
        time.sleep(0.02)


def listens(port: int, host: str = HOST) -> bool:
    with socket.socket() as client:
        return client.connect_ex((host, port)) == 0


def listens_at(path: Path) -> bool:
    """A socket's file is there before anyone listens to it."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0
