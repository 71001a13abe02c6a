"""Ingot's own API server for tests: `ingot up` in a directory, as a process of its own.

with IngotUp(directory) as server:
    ... server.kubeconfig, server.url, server.process.pid ...
"""

from __future__ import annotations

import base64
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

import yaml

from kube.cluster import free_ports
from kube.process import Process

START_TIMEOUT = 30.0
# The console script is not there where the project is only on the path.
INGOT = [sys.executable, "-c", "from ingot.cli.main import main; main()"]


class IngotUp:
    """Starts on entering, stops on leaving; may be entered again on the same directory, as a restart."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (self.port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{self.port}"
        self.kubeconfig = directory / "kubeconfig"
        command = [*INGOT, "up", "--dir", str(directory), "--listen", f"127.0.0.1:{self.port}"]
        self.process = Process("ingot", command, directory.with_suffix(".log"))

    def __enter__(self) -> IngotUp:
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

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not self._ready():
            self.process.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"ingot up was not ready in {START_TIMEOUT:.0f} s\n{self.process.tail()}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            config = yaml.safe_load(self.kubeconfig.read_text())
            authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
            context = ssl.create_default_context(cadata=authority.decode())
            with urllib.request.urlopen(f"{self.url}/readyz", context=context, timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:
            return False
