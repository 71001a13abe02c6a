"""One server process of a test: started, watched, and ended by its id."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType

STOP_TIMEOUT = 15.0


class ProcessEnded(Exception):
    """A server ended by itself. Carries its name, exit code and the end of its log."""

    def __init__(self, name: str, code: int, log: str) -> None:
        super().__init__(f"{name} ended with code {code}\n{log}")
        self.name, self.code, self.log = name, code, log


class Process:
    """Runs a command while the context is open, its output in a log file. It ends with its parent, too."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = ["setpriv", "--pdeathsig", "TERM", *command]

    def __enter__(self) -> Process:
        with self.log.open("ab") as output:
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment()
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.terminate()
        try:
            self._child.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    @property
    def pid(self) -> int:
        """The server's own process id: setpriv becomes the server."""
        return self._child.pid

    def check(self) -> None:
        """Raises ProcessEnded if the server no longer runs."""
        code = self._child.poll()
        if code is not None:
            raise ProcessEnded(self.name, code, self.tail())

    def tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])


def _environment() -> dict[str, str]:
    """As on a user's machine: Python may keep its bytecode, without which every start compiles everything again."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
