"""A new version of a disk by a DataVolume that names the claim of the old one, beside one that fetches all of it.

Both have the same registry, at once and behind a line of 100 Mbit/s, and what comes out is compared bit by bit.
"""

from __future__ import annotations

import asyncio
import filecmp
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from bench.debian import debian_disk
from bench.report import Row
from bench.update import CHANGED, START, changed, programs, push
from bench.volumes import Benchmarked, machine
from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.api.cdi.names import DELTA_FROM
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

ROUNDS = 3
LINE = 12.5e6
_OLD, _NEW = "old", "new"


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made, DockerRegistry() as server:
        directory = Path(made)
        directory.chmod(0o755)
        written = debian_disk(), changed(directory, _NEW, programs())
        built = _built(directory)
        with Registry(Settings()) as registry:
            for what, disks in (("written", written), ("built", built)):
                for tag, disk in zip((_OLD, _NEW), disks, strict=True):
                    push(registry, disk, Reference.parse(f"{server.host}/bench/{what}:{tag}"))
        return asyncio.run(_measure(directory, written[1], built[1], server))


def _built(directory: Path) -> tuple[Path, Path]:
    """Debian's files on two disks, the second made anew with 10 MB more among them."""
    tree = directory / "tree"
    tree.mkdir()
    subprocess.run(
        ["debugfs", "-R", f"rdump / {tree}", f"{debian_disk()}?offset={START}"], check=True, capture_output=True
    )
    old = _filesystem(directory / "built-old.raw", tree)
    (tree / "etc" / "new").write_bytes(b"".join(path.read_bytes() for path in programs())[:CHANGED])
    new = _filesystem(directory / "built-new.raw", tree)
    shutil.rmtree(tree)
    return old, new


def _filesystem(disk: Path, tree: Path) -> Path:
    with disk.open("wb") as file:
        file.truncate(debian_disk().stat().st_size)
    same = "hash_seed=6f1d2c9e-0000-4000-8000-000000000000,root_owner=0:0,lazy_itable_init=0"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-b", "4096", "-d", tree, "-E", same, disk], check=True)
    return disk


async def _measure(directory: Path, written: Path, built: Path, server: DockerRegistry) -> list[Row]:
    rows = []
    async with machine(directory / "d") as bench:
        for what, name, disk in (
            ("10 MB of programs written", "written", written),
            ("built anew, 10 MB more", "built", built),
        ):
            await bench.apply(_OLD, _source(server.host, name, _OLD), "1Gi")
            await bench.filled(_OLD)
            near = await _turns(bench, disk, server.host, name)
            with LimitedProxy(server.port, LINE) as line:
                far = await _turns(bench, disk, line.host, name)
                moved = await _moved(bench, disk, line, name, _OLD), await _moved(bench, disk, line, name, "")
            rows += [
                Row(f"{what}: bytes moved", "MB", *moved, None),
                Row(f"{what}: from a registry on the same machine", "s", *near, None),
                Row(f"{what}: from a registry behind 100 Mbit/s", "s", *far, None),
            ]
            await bench.clear()
    return rows


async def _turns(bench: Benchmarked, disk: Path, host: str, name: str) -> tuple[float, float]:
    """The medians of both ways, in turns."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(await _import(bench, disk, host, name, _OLD))
        theirs.append(await _import(bench, disk, host, name, ""))
    return statistics.median(ours), statistics.median(theirs)


async def _moved(bench: Benchmarked, disk: Path, line: LimitedProxy, name: str, previous: str) -> float:
    line.sent = 0
    await _import(bench, disk, line.host, name, previous)
    return line.sent / 1e6


async def _import(bench: Benchmarked, disk: Path, host: str, name: str, previous: str) -> float:
    os.sync()
    said = {DELTA_FROM: previous} if previous else {}
    began = await bench.apply(_NEW, _source(host, name, _NEW), "1Gi", **said)
    seconds = await bench.filled(_NEW) - began
    if not filecmp.cmp(await bench.path(_NEW) / "disk.img", disk, shallow=False):
        raise RuntimeError("the import does not make the new disk")
    await bench.clear(but=_OLD)
    return seconds


def _source(host: str, name: str, tag: str) -> dict[str, dict[str, str]]:
    return {"registry": {"url": f"docker://{host}/bench/{name}:{tag}"}}
