"""Ingot's own API server for tests: `ingot up --only-api` in a directory, as a process of its own.

with IngotUp(directory) as server:
    ... server.kubeconfig, server.url, server.process.pid ...
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import yaml

from kube.server import INGOT, Server

# How long what was told to end may take to do so.
END_SECONDS = 5.0


class IngotUp(Server):
    """Entered again, it is a restart on the same directory.

    `options` of `ingot up` in place of --only-api give a whole machine, of which guests and libvirtd run on.
    """

    def __init__(self, directory: Path, options: Sequence[str] = ("--only-api",)) -> None:
        super().__init__(["up", "--dir", str(directory), *options], directory.with_suffix(".log"))
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"

    def _trust(self) -> ssl.SSLContext:
        config = yaml.safe_load(self.kubeconfig.read_text())
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
        return ssl.create_default_context(cadata=authority.decode())


class WholeMachine(IngotUp):
    """A machine with everything in it, which ends on leaving: what `ingot down --guests` leaves running is an error."""

    def __init__(self, directory: Path, options: Sequence[str] = ()) -> None:
        super().__init__(directory, options)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        down = [*INGOT, "down", "--dir", str(self.directory), "--guests"]
        said = subprocess.run(down, check=False, capture_output=True, text=True)
        super().__exit__(kind, error, trace)
        left = self._left()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if kind is None:
            assert said.returncode == 0, said.stderr
            assert not left, f"`ingot down --guests` has left {left}"

    def _left(self) -> dict[int, str]:
        deadline = time.monotonic() + END_SECONDS
        while (left := processes_with(str(self.directory))) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


def processes_with(text: str) -> dict[int, str]:
    """The processes of this machine, but ourselves, that have the text in their command lines or directories."""
    found = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and int(place.name) != os.getpid():
            with contextlib.suppress(OSError):
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                # libvirtd works in its directory, and names none.
                if text in command or text in str((place / "cwd").readlink()):
                    found[int(place.name)] = command.strip()
    return found
