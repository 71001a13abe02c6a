"""A server of Ingot as a process of its own, for tests."""

from __future__ import annotations

import ssl
import sys
import time
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from kube.cluster import free_ports
from kube.process import Process

START_TIMEOUT = 30.0
# The console script is not there where the project is only on the path.
INGOT = [sys.executable, "-c", "from ingot.cli.main import main; main()"]


class Server(ABC):
    """An `ingot` command that listens: ready once entered, stopped on leaving. Entered again, it restarts."""

    def __init__(self, command: list[str], log: Path) -> None:
        (self.port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{self.port}"
        name = f"ingot {command[0]}"
        self.process = Process(name, [*INGOT, *command, "--listen", f"127.0.0.1:{self.port}"], log)

    def __enter__(self) -> Self:
        self.process.__enter__()
        try:
            self._wait_ready()
        except BaseException:
            self.process.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.__exit__(kind, error, trace)

    @abstractmethod
    def _trust(self) -> ssl.SSLContext:
        """Trusts the server's certificate. Raises OSError while that is yet to be made."""

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not self._ready():
            self.process.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.process.name} was not ready in {START_TIMEOUT:.0f} s\n{self.process.tail()}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", context=self._trust(), timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:
            return False
