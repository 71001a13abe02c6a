"""Promise 2 of volumes: an import through a DataVolume takes at most 1.15 times as long as the plain pipeline."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.debian import debian_disk
from bench.report import Row
from bench.volumes import Benchmarked, machine
from guest.servers.nginx import Nginx
from images.servers.registry import DockerRegistry
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

ROUNDS = 5
BAR = 1.15
LARGE_BYTES = 4 << 30


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made, DockerRegistry() as registry:
        directory = Path(made)
        directory.chmod(0o755)
        files = directory / "files"
        files.mkdir()
        _random(files / "large.raw")
        _push(debian_disk(), reference := Reference.parse(f"{registry.host}/bench/debian:own"))
        with Nginx(files, "nobody", "nothing") as web:
            return asyncio.run(_measure(directory, f"docker://{reference}", f"{web.http}/large.raw"))


async def _measure(directory: Path, image: str, large: str) -> list[Row]:
    rows = []
    async with machine(directory / "d") as bench:
        debian = "Debian, 353 MiB of data, from a registry"
        cases = (
            (debian, image, {"registry": {"url": image}}, "1Gi", BAR),
            # A pod looks for the size first.
            (f"{debian}, without a size", image, {"registry": {"url": image}}, "", None),
            ("4 GiB of random bytes, from a web server", large, {"http": {"url": large}}, "4Gi", BAR),
        )
        for what, url, source, size, bar in cases:
            ours, theirs = [], []
            for turn in range(ROUNDS + 1):
                plain = _pull(directory, url)
                through = await _import(bench, f"bench-{turn}", source, size)
                # The first of each warms caches up.
                if turn:
                    ours.append(through)
                    theirs.append(plain)
            rows.append(Row(what, "s", statistics.median(ours), statistics.median(theirs), bar))
    return rows


def _pull(directory: Path, url: str) -> float:
    made = directory / "plain.raw"
    environment = {**os.environ, "INGOT_CACHE": str(directory / "cache")}
    os.sync()
    began = time.perf_counter()
    command = [str(Path(sys.executable).with_name("ingot")), "image", "pull", url, str(made)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    seconds = time.perf_counter() - began
    made.unlink()
    subprocess.run(["rm", "-rf", str(directory / "cache")], check=True)
    return seconds


async def _import(bench: Benchmarked, name: str, source: dict[str, dict[str, str]], size: str) -> float:
    os.sync()
    began = await bench.apply(name, source, size)
    seconds = await bench.filled(name) - began
    await bench.clear()
    return seconds


def _random(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(LARGE_BYTES >> 26):
            file.write(os.urandom(1 << 26))


def _push(disk: Path, reference: Reference) -> None:
    opened = open_disk(disk)
    try:
        with Registry(Settings()) as registry:
            push_disk(registry, opened, reference, PushOptions())
    finally:
        opened.close()
