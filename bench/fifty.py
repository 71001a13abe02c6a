"""Promise 3 of volumes: fifty DataVolumes at once all succeed, in bounded memory, a few of them transferring."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from bench.report import Bound
from bench.volumes import NAMESPACE, Benchmarked, machine
from guest.servers.nginx import Nginx
from ingot.api.cdi.names import TRANSFER
from ingot.api.resources import PODS
from ingot.control.volumes.gate import TRANSFERS

MANY = 50
DISK_BYTES = 64 << 20
_PAUSE = 0.1


def run() -> list[Bound]:
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made:
        directory = Path(made)
        directory.chmod(0o755)
        files = directory / "files"
        files.mkdir()
        (files / "disk.raw").write_bytes(os.urandom(DISK_BYTES))
        with Nginx(files, "nobody", "nothing") as web:
            return asyncio.run(_measure(directory, f"{web.http}/disk.raw"))


async def _measure(directory: Path, url: str) -> list[Bound]:
    async with machine(directory / "d") as bench:
        idle = bench.memory()
        peak = Peak(bench)
        watching = asyncio.create_task(peak.watch())
        began = time.perf_counter()
        for number in range(MANY):
            await bench.apply(f"many-{number}", {"http": {"url": url}}, "80Mi")
        await asyncio.gather(*(bench.filled(f"many-{number}") for number in range(MANY)))
        seconds = time.perf_counter() - began
        watching.cancel()
        await bench.clear()
    return [
        Bound(f"{MANY} volumes of {DISK_BYTES >> 20} MiB at once until all have succeeded", "s", seconds, None),
        Bound("of them transferring at the same time, at most", "", peak.transfers, float(TRANSFERS)),
        Bound("memory of our processes, idle", "MB", idle / 1e6, None),
        Bound("memory of our processes, at most", "MB", peak.memory / 1e6, None),
    ]


class Peak:
    """The most memory, and the most transfers, of any moment that was looked at."""

    def __init__(self, bench: Benchmarked) -> None:
        self._bench = bench
        self.memory, self.transfers = 0, 0

    async def watch(self) -> None:
        while True:
            pods = (await self._bench.client.list(PODS, NAMESPACE, label_selector=TRANSFER))["items"]
            self.transfers = max(self.transfers, sum(each["status"].get("phase") == "Running" for each in pods))
            self.memory = max(self.memory, await asyncio.to_thread(self._bench.memory))
            await asyncio.sleep(_PAUSE)
