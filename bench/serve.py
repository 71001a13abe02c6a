"""Bar 4 of images: `ingot serve` of a raw file beside nbdkit's file plugin, over a unix socket and over TCP.

Both servers run all the time, in front of the same file in the page cache; clients take turns with them. nbdcopy reads
the whole disk to nowhere; fio reads 4 KiB at random places with one and with sixteen requests under way.
"""

import contextlib
import filecmp
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import cpu
from bench.debian import debian_disk
from bench.report import Row

_ROUNDS = 7
_FIO_SECONDS = 1
# A copy takes a fraction of a second: several of them are one measurement.
_COPIES = 3


@dataclass(slots=True)
class _Figures:
    """One server over one kind of socket: what was measured in each round."""

    uri: str
    process: int
    throughput: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    operations: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as scratch:
        disk = Path(scratch) / "disk.raw"
        # Without holes, which neither would have to send.
        subprocess.run(["cp", "--sparse=never", debian_disk(), disk], check=True)
        rows = []
        for kind in ("unix", "TCP"):
            rows += _compare(kind, disk)
        return rows


def _compare(kind: str, disk: Path) -> list[Row]:
    # nbdkit's threads use all CPUs; so do processes of ours. One process is what `ingot serve` is by default.
    several = min(4, os.cpu_count() or 1)
    with _ours(kind, disk, several) as ours, _ours(kind, disk, 1) as single, _theirs(kind, disk) as theirs:
        for figures in (ours, single, theirs):
            _check(figures, disk)
        for turn in range(_ROUNDS):
            for figures in (ours, single, theirs) if turn % 2 else (theirs, single, ours):
                _measure(figures, disk)
    return [*_rows(kind, ours, theirs), *_rows(f"{kind}, one process", single, theirs)]


def _rows(kind: str, ours: _Figures, theirs: _Figures) -> list[Row]:
    return [
        _row(f"{kind}: nbdcopy", "MB/s", ours, theirs, lambda each: each.throughput, 1.0, True),
        _row(f"{kind}: CPU of the server for that", "s", ours, theirs, lambda each: each.seconds, None),
        _row(f"{kind}: 4K, depth 1, latency", "µs", ours, theirs, lambda each: each.latency, 1.0),
        _row(f"{kind}: 4K, depth 16", "/s", ours, theirs, lambda each: each.operations, 0.7, True),
    ]


def _row(
    what: str,
    unit: str,
    ours: _Figures,
    theirs: _Figures,
    pick: Callable[[_Figures], list[float]],
    bar: float | None,
    more: bool = False,
) -> Row:
    return Row(what, unit, statistics.median(pick(ours)), statistics.median(pick(theirs)), bar, more)


def _measure(figures: _Figures, disk: Path) -> None:
    before, began = cpu.of(figures.process), time.perf_counter()
    for _ in range(_COPIES):
        subprocess.run(["nbdcopy", figures.uri, "null:"], check=True)
    figures.throughput.append(_COPIES * disk.stat().st_size / (time.perf_counter() - began) / 1e6)
    figures.seconds.append(cpu.of(figures.process) - before)
    figures.latency.append(_fio(figures.uri, 1)["lat_ns"]["mean"] / 1e3)
    figures.operations.append(_fio(figures.uri, 16)["iops"])


def _fio(uri: str, depth: int) -> dict[str, Any]:
    command = ["fio", "--name=x", "--ioengine=nbd", f"--uri={uri}", "--rw=randread", "--bs=4k", f"--iodepth={depth}"]
    command += ["--time_based", f"--runtime={_FIO_SECONDS}", "--output-format=json", "--randseed=1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    read: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    return read


def _check(figures: _Figures, disk: Path) -> None:
    copy = disk.with_name("copy.raw")
    subprocess.run(["nbdcopy", "--allocated", figures.uri, copy], check=True)
    if not filecmp.cmp(disk, copy, shallow=False):
        raise RuntimeError(f"{figures.uri}: the copy is another disk")
    copy.unlink()


@contextlib.contextmanager
def _ours(kind: str, disk: Path, processes: int) -> Iterator[_Figures]:
    path, port = disk.with_name(f"ours-{processes}.sock"), _free_port()
    where = ["--socket", str(path)] if kind == "unix" else ["--listen", f"127.0.0.1:{port}"]
    command = [str(Path(sys.executable).with_name("ingot")), "serve", *where, "--processes", str(processes)]
    with _running([*command, "--export", f"disk={disk}"], _uri(kind, path, port, "disk")) as figures:
        yield figures


@contextlib.contextmanager
def _theirs(kind: str, disk: Path) -> Iterator[_Figures]:
    path, port = disk.with_name("theirs.sock"), _free_port()
    where = ["-U", str(path)] if kind == "unix" else ["-i", "127.0.0.1", "-p", str(port)]
    command = [shutil.which("nbdkit") or "nbdkit", "-f", "-r", *where, "file", str(disk)]
    with _running(command, _uri(kind, path, port, "")) as figures:
        yield figures


@contextlib.contextmanager
def _running(command: list[str], uri: str) -> Iterator[_Figures]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            _wait(uri, server)
            yield _Figures(uri, server.pid)
        finally:
            server.terminate()


def _wait(uri: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while subprocess.run(["nbdinfo", "--size", uri], capture_output=True).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{uri}: the server does not answer")
        time.sleep(0.05)


def _uri(kind: str, path: Path, port: int, export: str) -> str:
    return f"nbd+unix:///{export}?socket={path}" if kind == "unix" else f"nbd://127.0.0.1:{port}/{export}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
