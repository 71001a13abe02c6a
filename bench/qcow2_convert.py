"""Promise 3 of images: a compressed qcow2 becomes a raw disk with 0.6 of the CPU of `qemu-img convert -W`, no later."""

import filecmp
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import cpu
from bench.debian import debian_disk
from bench.importing import Cost
from bench.report import Row

ROUNDS = 5


def run() -> list[Row]:
    disk = debian_disk()
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made:
        image, ours, theirs = (Path(made) / name for name in ("disk.qcow2", "ours.raw", "theirs.raw"))
        subprocess.run(["qemu-img", "convert", "-c", "-O", "qcow2", disk, image], check=True)
        pull = [str(Path(sys.executable).with_name("ingot")), "image", "pull", str(image), str(ours)]
        convert = ["qemu-img", "convert", "-W", "-O", "raw", str(image), str(theirs)]
        costs: list[tuple[Cost, Cost]] = []
        for _ in range(ROUNDS):
            by_qemu = _measured(convert, theirs, disk)
            costs.append((_measured(pull, ours, disk), by_qemu))
    our, their = _median([cost[0] for cost in costs]), _median([cost[1] for cost in costs])
    return [
        Row("compressed qcow2 → raw, CPU", "s", our.cpu, their.cpu, 0.6),
        Row("compressed qcow2 → raw, time", "s", our.wall, their.wall, 1.0),
    ]


def _measured(command: Sequence[str], made: Path, disk: Path) -> Cost:
    """What the command costs, which makes a file that must be the disk, byte for byte."""
    os.sync()
    used, began = cpu.of_children(), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    cost = Cost(time.monotonic() - began, cpu.of_children() - used)
    if not filecmp.cmp(made, disk, shallow=False):
        raise RuntimeError(f"{made} is not {disk}")
    made.unlink()
    return cost


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))
