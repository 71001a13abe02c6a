"""`ingot worker upload` as a process of its own, as its pod runs it."""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ingot.control.uploads.credentials import WORD, new_data
from kube.cluster import free_ports
from kube.server import INGOT


class UploadWorker:
    """A worker on `target`; entered again, it is a restarted container."""

    def __init__(self, directory: Path, *options: str, size: int = 64 << 20) -> None:
        self.target = directory / "volume" / "disk.img"
        self._tls, self._state = directory / "tls", directory / "state"
        self.report = directory / "report"
        self.log = directory / "log"
        for made in (self.target.parent, self._tls, self._state):
            made.mkdir()
        for name, value in new_data("test").items():
            (self._tls / name).write_bytes(base64.b64decode(value))
        self.word = (self._tls / WORD).read_text()
        port, progress = free_ports(2)
        self.progress_port = progress
        self.url = f"https://127.0.0.1:{port}/"
        self._progress = f"http://127.0.0.1:{progress}/progress"
        places = ["--target", self.target, "--tls", self._tls, "--state", self._state, "--report", self.report]
        ports = ["--address", "127.0.0.1", "--port", str(port), "--listen", f"127.0.0.1:{progress}"]
        sizes = ["--size", str(size), "--limit", str(size)]
        self._command = [*INGOT, "worker", "upload", *map(str, places), *ports, *sizes, *options]
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log)

    def failed(self, seconds: float = 30.0) -> int:
        """The exit code of one that ends before it has listened."""
        self._process = self._start()
        return self._process.wait(seconds)

    def __enter__(self) -> Self:
        self._process = self._start()
        deadline = time.monotonic() + 30
        while not self._listens():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.02)
        return self

    def _listens(self) -> bool:
        context = ssl._create_unverified_context()  # noqa: S323, it is only asked whether it is there
        try:
            urllib.request.urlopen(self.url, context=context, timeout=5)  # noqa: S310
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ended(self, seconds: float = 30.0) -> int:
        """Its exit code, when it has ended by itself."""
        assert self._process is not None
        return self._process.wait(seconds)

    @property
    def memory(self) -> int:
        """What it has resident at this moment, in bytes."""
        assert self._process is not None
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        (found,) = [line for line in lines if line.startswith("VmRSS:")]
        return int(found.split()[1]) << 10

    def progress(self) -> dict[str, Any]:
        with urllib.request.urlopen(self._progress, timeout=5) as answer:  # noqa: S310
            return dict(json.load(answer))

    def reported(self) -> dict[str, Any]:
        return dict(json.loads(self.report.read_text()))
