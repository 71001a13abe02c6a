"""Promise 1 of volumes: a clone of a golden volume of 10 GiB with 1 GiB of data takes a moment and no room."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.report import Bound
from bench.volumes import NAMESPACE, Benchmarked, is_bound, machine
from ingot.api.resources import VOLUME_CLAIMS

ROUNDS, WARM = 60, 5
DISK_BYTES, DATA_BYTES = 10 << 30, 1 << 30
MOST_MILLISECONDS = 50.0
# What a file costs in a filesystem that shares its blocks: an inode, a directory, the list of its extents.
MOST_GROWTH_MEGABYTES = 1.0
VOLUMES = "volumes"
_PIECE = 64 << 20


def run() -> list[Bound]:
    with _xfs() as place:
        return asyncio.run(_measure(place))


@contextmanager
def _xfs() -> Iterator[Path]:
    """A directory for a machine whose volumes are on a filesystem that shares blocks, in a file. All else is on the
    machine's own disk: a journal in a journal would be measured with it."""
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made:
        image, place = Path(made) / "xfs.img", Path(made) / "d" / VOLUMES
        image.touch()
        os.truncate(image, DISK_BYTES + (4 << 30))
        place.mkdir(parents=True)
        Path(made).chmod(0o755)
        subprocess.run(["mkfs.xfs", "-q", str(image)], check=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
        try:
            yield place.parent
        finally:
            subprocess.run(["umount", str(place)], check=True)


async def _measure(place: Path) -> list[Bound]:
    async with machine(place) as bench:
        await _golden(bench)
        before, data, ready = _used(place / VOLUMES), [], []
        for turn in range(ROUNDS + WARM):
            seconds = await _clone(bench, f"clone-{turn}")
            # The first ones warm up.
            if turn >= WARM:
                data.append(1000 * seconds[0])
                ready.append(1000 * seconds[1])
        growth = (_used(place / VOLUMES) - before) / (ROUNDS + WARM) / 1e6
        golden, clone = await bench.path("golden"), await bench.path(f"clone-{ROUNDS}")
        await asyncio.to_thread(_check, golden, clone)
        await bench.clear()
    return [
        Bound("apply until the clone's data is there, p50", "ms", statistics.median(data), None),
        Bound("apply until the clone's data is there, p95", "ms", _p95(data), MOST_MILLISECONDS),
        Bound("apply until the status says Succeeded, p95", "ms", _p95(ready), None),
        Bound("room that a clone takes", "MB", growth, MOST_GROWTH_MEGABYTES),
    ]


async def _golden(bench: Benchmarked) -> None:
    """A volume of which a tenth is data, as a guest would have left it."""
    await bench.apply("golden", {"blank": {}}, "10Gi")
    await bench.filled("golden")
    disk = await bench.path("golden") / "disk.img"
    with disk.open("r+b") as file:
        for place in range(0, DATA_BYTES, _PIECE):
            file.seek(place * (DISK_BYTES // DATA_BYTES - 1))
            file.write(os.urandom(_PIECE))
        os.fsync(file.fileno())


async def _clone(bench: Benchmarked, name: str) -> tuple[float, float]:
    """Seconds until its claim is bound, which it is when every byte is there; and until the status says so."""
    waiting = asyncio.gather(bench.until(VOLUME_CLAIMS, name, is_bound), bench.filled(name))
    await asyncio.sleep(0.05)
    began = await bench.apply(name, {"pvc": {"namespace": NAMESPACE, "name": "golden"}})
    bound, succeeded = await waiting
    return bound - began, succeeded - began


def _check(golden: Path, clone: Path) -> None:
    subprocess.run(["cmp", golden / "disk.img", clone / "disk.img"], check=True)


def _used(place: Path) -> int:
    os.sync()
    found = os.statvfs(place)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]
