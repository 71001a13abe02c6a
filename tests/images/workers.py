"""`ingot worker` as a process of its own, as pods run it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kube.cluster import free_ports

_SECONDS = 60


class Worker:
    """A worker with a volume below `directory`, as a pod has it: `data`, `state` and a file for the last words. It may
    be started again and again."""

    def __init__(
        self, directory: Path, command: str, *words: object, url: str = "", target: Path | None = None
    ) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.disk = target or self.data / "disk.img"
        (self.port,) = free_ports(1)
        for place in (self.data, directory / "state"):
            place.mkdir(exist_ok=True)
        self._report = directory / "report"
        self.url = url
        where = {"import": "--target", "copy": "--to"}.get(command)
        self.words = [
            *(command, "--report", str(self._report)),
            *(("--state", str(directory / "state")) if command != "inspect" else ()),
            *((where, str(self.disk)) if where else ()),
            *("--listen", f"127.0.0.1:{self.port}", *map(str, words)),
        ]

    def start(self, *before: str) -> subprocess.Popen[str]:
        """Begun by another program, where that is given with its options."""
        self._report.write_text("")
        # Nothing of the user's own settings and logins counts.
        environment = {**os.environ, "HOME": str(self.directory), "XDG_CONFIG_HOME": str(self.directory)}
        if self.url:
            environment["INGOT_SOURCE_URL"] = self.url
        command = [*before, sys.executable, "-m", "ingot", "worker", *self.words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)

    def run(self) -> dict[str, Any]:
        """Its report. Raises AssertionError for one that does not say what its exit code says."""
        process = self.start()
        self.log, _ = process.communicate(timeout=_SECONDS)
        told = self.report()
        assert (process.returncode == 0) == ("reason" not in told), self.log
        assert process.returncode in (0, 1), self.log
        return told

    def succeed(self) -> dict[str, Any]:
        told = self.run()
        assert "reason" not in told, told
        return told

    def fail(self) -> dict[str, Any]:
        """The report of one that must fail, and leaves no disk."""
        told = self.run()
        assert "reason" in told, told
        assert not (self.data / "disk.img").exists()
        return told

    def report(self) -> dict[str, Any]:
        text = self._report.read_text()
        assert len(text.encode()) <= 4096
        told: dict[str, Any] = json.loads(text)
        return told

    def progress(self) -> dict[str, int] | None:
        """What it tells of its progress; None where it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/progress")
            told: dict[str, int] = json.loads(connection.getresponse().read())
            return told
        except OSError:
            return None
        finally:
            connection.close()

    def wait_for(self, done: int, process: subprocess.Popen[str]) -> dict[str, int]:
        """Waits until so many bytes are done."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            told = self.progress()
            if told and told["done"] >= done:
                return told
            time.sleep(0.01)
        raise AssertionError(f"it does not come to {done} bytes")

    def wait_for_journal(self) -> None:
        """Waits until what is done is written down, of a device, while nothing more comes."""
        deadline = time.monotonic() + _SECONDS
        while not any(_settled(each) for each in (self.directory / "state/journals").glob("*journal")):
            assert time.monotonic() < deadline, "there is no journal"
            time.sleep(0.01)

    def settle(self) -> None:
        """Waits for what is done to be written down, of a file, for a second at most: where bytes come one after the
        other, it is written down when the next ones come."""
        part, journal = (self.data / f".disk.img.ingot-{what}" for what in ("part", "journal"))
        deadline = time.monotonic() + 1
        while not (journal.exists() and journal.stat().st_mtime_ns > part.stat().st_mtime_ns):
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)

    def only_the_disk(self) -> bool:
        return [each.name for each in self.data.iterdir()] == ["disk.img"]


def _settled(journal: Path) -> bool:
    found = journal.stat()
    return bool(found.st_size) and time.time() - found.st_mtime > 0.5


def secret(directory: Path, **values: str) -> Path:
    """A Secret or ConfigMap as it is mounted; `_` in the names of keys stands for a dot."""
    directory.mkdir(parents=True)
    for name, value in values.items():
        (directory / name.replace("_", ".")).write_text(value)
    return directory
