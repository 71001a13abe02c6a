"""`ingot serve` as a process of its own, on a unix socket or a port, as users start it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self
from urllib.parse import quote

from ingot.images.nbd.address import Address, Tls
from ingot.images.nbd.client import NbdContent

INGOT = str(Path(sys.executable).with_name("ingot"))
_SECONDS = 30


class Serving:
    """Started with these options, besides where it listens; ended with the block, whatever happens in it."""

    def __init__(
        self,
        directory: Path,
        *options: str,
        tcp: bool = False,
        tls: Tls | None = None,
        adopt: int | None = None,
        files: int | None = None,
    ) -> None:
        """`adopt`: a listening socket to hand over. `files`: how many each process may have open."""
        self.directory = directory
        self.control = directory / "control"
        where = ("--listen", "127.0.0.1:0") if tcp else ("--socket", str(directory / "nbd"))
        self._command = [INGOT, "serve", *(() if adopt is not None else where), *options]
        self._adopt = adopt
        self._files = files
        self._tls = tls
        self._log = directory / "log"

    def __enter__(self) -> Self:
        self.process = self._start()
        self._line = self._first_line().removeprefix("serving on ").strip()
        return self

    def _start(self) -> subprocess.Popen[str]:
        command = self._command
        descriptors: tuple[int, ...] = ()
        if self._adopt is not None:
            # As systemd does it: the first descriptor after standard error, and our number, which exec keeps.
            script = f'exec 3<&{self._adopt} {self._adopt}<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
            command = ["bash", "-c", script, "bash", *command]
            descriptors = (self._adopt,)
        if self._files is not None:
            command = ["bash", "-c", f'ulimit -n {self._files}; exec "$@"', "bash", *command]
        with self._log.open("w") as log:
            return subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, pass_fds=descriptors, cwd=self.directory
            )

    def _first_line(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], _SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.__exit__()
            raise RuntimeError(f"ingot serve does not start: {self.log}")
        return line

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def log(self) -> str:
        return self._log.read_text()

    def uri(self, export: str = "") -> str:
        scheme, _, rest = self._line.partition("://")
        if "unix" in scheme:
            return f"{scheme}:///{quote(export)}?socket={self.directory / 'nbd'}"
        return f"{scheme}://{rest}{quote(export)}"

    def content(self, export: str = "", connections: int = 4) -> NbdContent:
        """A client of ours."""
        return NbdContent(Address.parse(self.uri(export), self._tls), connections)

    @property
    def address(self) -> Address:
        return Address.parse(self.uri(), self._tls)

    @property
    def workers(self) -> list[int]:
        """The numbers of the processes that serve."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in children.split()]

    def kill_worker(self) -> int:
        """Kills one; its number."""
        number = self.workers[0]
        os.kill(number, signal.SIGKILL)
        return number

    def end(self) -> int:
        """Asks it to end; its exit code."""
        self.process.terminate()
        return self.process.wait(_SECONDS)


def wait_for(condition: object, seconds: float = 10.0) -> None:
    """Waits until a callable says yes."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.02)
