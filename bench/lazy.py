"""Promise 5 of images: a guest starts from a registry that is slow before its image could have been fetched.

The registry gives 10 MB/s, 20 ms late. The delay is the time from the wish for the disk to the guest's login, less what
the same guest takes from a local disk; `ingot serve` runs before, as on a node. Beside it: `ingot image pull`, then the
boot. What is moved is counted at the registry's door, with all headers and tables; what was touched by the chunks in
the trace of another boot.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench import cpu
from bench.debian import MARKER, boot, debian_disk
from bench.report import Row
from images.servers.limited import LimitedProxy, limited
from images.servers.registry import DockerRegistry
from ingot.images.container_disk import open_container_disk
from ingot.images.disk import open_disk
from ingot.images.lazy import trace
from ingot.images.lazy.table import ChunkTable
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

ROUNDS = 3
RATE = 10e6
DELAY = 0.02
_INGOT = str(Path(sys.executable).with_name("ingot"))


@dataclass(slots=True)
class _Times:
    """Seconds, and for lazy ones bytes, of each round. `…_cpu` are CPU seconds of what delivers the disk, the export or
    the pull; the guest's are not among them."""

    local: list[float] = field(default_factory=list)
    pulled: list[float] = field(default_factory=list)
    lazy: list[float] = field(default_factory=list)
    traced: list[float] = field(default_factory=list)
    lazy_bytes: list[float] = field(default_factory=list)
    traced_bytes: list[float] = field(default_factory=list)
    lazy_cpu: list[float] = field(default_factory=list)
    traced_cpu: list[float] = field(default_factory=list)
    pulls: list[float] = field(default_factory=list)
    pulls_cpu: list[float] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)


def run() -> list[Row]:
    return [*_measure("small", debian_disk()), *_measure("large", debian_disk(large=True))]


def _measure(name: str, disk: Path) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made, DockerRegistry() as server:
        plain, traced = (f"{server.host}/bench/{name}-{kind}:1" for kind in ("plain", "traced"))
        _push(disk, plain, traced)
        _record(traced, Path(made) / "cache")
        touched = _touched(traced)
        with limited(server.port, RATE, DELAY) as proxy:
            world = _World(disk, Path(made), proxy, server.host)
            times = _Times()
            for _ in range(ROUNDS):
                world.round(times, plain, traced)
    return _rows(name, times, touched)


def _rows(name: str, times: _Times, touched: float) -> list[Row]:
    middle = statistics.median
    local = middle(times.local)
    pulled = middle(times.pulled) - local
    return [
        Row(f"{name}: delay", "s", middle(times.lazy) - local, pulled, 1 / 5),
        Row(f"{name}: delay with a trace", "s", middle(times.traced) - local, pulled, 1 / 10),
        Row(f"{name}: moved, beside touched", "MB", middle(times.lazy_bytes) / 1e6, touched / 1e6, 1.3),
        Row(f"{name}: moved with a trace, beside touched", "MB", middle(times.traced_bytes) / 1e6, touched / 1e6, 1.3),
        Row(f"{name}: whole disk, beside a pull", "s", middle(times.reads), middle(times.pulls), 1.2),
        Row(f"{name}: CPU of the export, beside a pull", "s", middle(times.lazy_cpu), middle(times.pulls_cpu), None),
        Row(f"{name}: CPU with a trace, beside a pull", "s", middle(times.traced_cpu), middle(times.pulls_cpu), None),
    ]


class _World:
    """`disk` is in the registry `host`, which `proxy` stands before; `directory` has room for copies of it."""

    def __init__(self, disk: Path, directory: Path, proxy: LimitedProxy, host: str) -> None:
        self._disk = disk
        self._directory = directory
        self._proxy = proxy
        self._host = host

    def round(self, times: _Times, plain: str, traced: str) -> None:
        times.local.append(boot(str(self._disk)))
        seconds, moved, used = self._lazily(plain)
        times.lazy.append(seconds)
        times.lazy_bytes.append(moved)
        times.lazy_cpu.append(used)
        seconds, moved, used = self._lazily(traced)
        times.traced.append(seconds)
        times.traced_bytes.append(moved)
        times.traced_cpu.append(used)
        self._pull_and_boot(times, plain)
        times.reads.append(self._read(plain))

    def _slow(self, reference: str) -> str:
        """The same image, behind the proxy."""
        return reference.replace(self._host, self._proxy.host)

    def _lazily(self, reference: str) -> tuple[float, int, float]:
        """How long the disk takes to the guest's login, how many bytes came for that, and the export's CPU seconds."""
        with self._server() as (server, socket, control):
            began, before = time.monotonic(), self._proxy.sent
            _run(_INGOT, "serve", "add", "--control", control, f"disk=docker://{self._slow(reference)}")
            boot(f"nbd+unix:///disk?socket={socket}")
            return time.monotonic() - began, self._proxy.sent - before, cpu.of(server)

    def _pull_and_boot(self, times: _Times, reference: str) -> None:
        target, cache = self._directory / "pulled.raw", self._directory / "pulls"
        shutil.rmtree(cache, ignore_errors=True)
        began, used = time.monotonic(), cpu.of_children()
        _run(_INGOT, "image", "pull", self._slow(reference), str(target), "--cache", str(cache))
        times.pulls.append(time.monotonic() - began)
        times.pulls_cpu.append(cpu.of_children() - used)
        boot(str(target))
        times.pulled.append(time.monotonic() - began)
        self._check(target)

    def _read(self, reference: str) -> float:
        """How long it takes to copy the whole disk out of a lazy export."""
        target = self._directory / "copied.raw"
        with self._server() as (_, socket, control):
            began = time.monotonic()
            _run(_INGOT, "serve", "add", "--control", control, f"disk=docker://{self._slow(reference)}")
            _run("nbdcopy", f"nbd+unix:///disk?socket={socket}", str(target))
            seconds = time.monotonic() - began
        self._check(target)
        return seconds

    def _check(self, target: Path) -> None:
        if not filecmp.cmp(target, self._disk, shallow=False):
            raise RuntimeError(f"{target} is not {self._disk}")
        target.unlink()

    @contextlib.contextmanager
    def _server(self) -> Iterator[tuple[int, str, str]]:
        """A server that has fetched nothing yet: its process, its socket, and that for its control."""
        cache = self._directory / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        socket, control = str(self._directory / "nbd"), str(self._directory / "control")
        options = ["--socket", socket, "--control", control, "--cache", str(cache), "--grace", "0"]
        process = subprocess.Popen([_INGOT, "serve", *options], stdout=subprocess.DEVNULL)
        try:
            while not (Path(control).exists() and Path(socket).exists()):
                if process.poll() is not None:
                    raise RuntimeError("ingot serve did not start")
                time.sleep(0.01)
            yield process.pid, socket, control
        finally:
            process.terminate()
            process.wait()


def _push(disk: Path, *references: str) -> None:
    content = open_disk(disk)
    try:
        with Registry(Settings()) as registry:
            for reference in references:
                push_disk(registry, content, Reference.parse(reference), PushOptions())
    finally:
        content.close()


def _record(reference: str, cache: Path) -> None:
    command = [_INGOT, "image", "trace", reference, "--until", MARKER.decode(), "--memory", "512", "--seconds", "400"]
    _run(*command, "--cache", str(cache))


def _touched(reference: str) -> int:
    """How many bytes the chunks of the recorded boot have as they are moved."""
    with Registry(Settings()) as registry:
        image = registry.resolve(Reference.parse(reference))
        found = trace.find(registry, image)
        pieces = open_container_disk(registry, image).pieces
        if found is None or pieces is None:
            raise RuntimeError(f"{reference} has no trace")
        table = ChunkTable(pieces.chunks())
        return sum(table.weight(number) for number in found.numbers(len(table)))


def _run(*command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "INGOT_CACHE"}
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
