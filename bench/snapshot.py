"""Snapshots on a filesystem that cannot share blocks: the Debian disk packed, beside a plain copy of it."""

from __future__ import annotations

import filecmp
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import cpu
from bench.debian import debian_disk
from bench.importing import Cost
from bench.report import Row
from ingot.host.clone import Progress
from ingot.standalone.volumes import packing

ROUNDS = 5


def run() -> list[Row]:
    disk = debian_disk()
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made:
        packed, back, copied = (Path(made) / name for name in ("packed.qcow2", "back.img", "copied.img"))
        costs: list[tuple[Cost, Cost, Cost]] = []
        rooms = (0, 0)
        for _ in range(ROUNDS):
            plain = _measured(lambda: _copy(disk, copied))
            packing_cost = _measured(lambda: packing.pack(disk, packed, Progress()))
            costs.append((packing_cost, _measured(lambda: packing.unpack(packed, back, Progress())), plain))
            if not filecmp.cmp(back, disk, shallow=False):
                raise RuntimeError(f"{back} is not {disk}")
            rooms = _room(packed), _room(copied)
            for path in (packed, back, copied):
                path.unlink()
    taking, bringing, copying = (_median([each[at] for each in costs]) for at in range(3))
    return [
        Row("snapshot without shared blocks: room", "MB", rooms[0] / 1e6, rooms[1] / 1e6, None),
        Row("… time to take it", "s", taking.wall, copying.wall, None),
        Row("… CPU to take it", "s", taking.cpu, copying.cpu, None),
        Row("… time to bring it back", "s", bringing.wall, copying.wall, None),
    ]


def _copy(disk: Path, copied: Path) -> None:
    subprocess.run(["cp", "--reflink=never", disk, copied], check=True)
    subprocess.run(["sync", copied], check=True)


def _measured(work: Callable[[], None]) -> Cost:
    used, began = cpu.of_children(), time.monotonic()
    work()
    return Cost(time.monotonic() - began, cpu.of_children() - used)


def _median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))


def _room(path: Path) -> int:
    return path.stat().st_blocks * 512
