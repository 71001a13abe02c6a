"""Promises of golden images: thousands cost a start of the controllers little, and registries next to nothing."""

from __future__ import annotations

import asyncio
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from bench.golden_world import NAMESPACE, each, populate
from bench.report import Bound
from images.servers.counting import CountingRegistry
from ingot.api.cdi import names
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp
from kube.cluster import free_ports
from kube.process import Process
from kube.server import INGOT

CRONS, VOLUMES = 2000, 20_000
_PAUSE = 0.5
_WAIT_SECONDS = 1800.0


def run(crons: int = CRONS, volumes: int = VOLUMES) -> list[Bound]:
    with (
        tempfile.TemporaryDirectory(prefix="ingot-bench-") as made,
        CountingRegistry() as registry,
        IngotUp(Path(made) / "d") as server,
    ):
        return asyncio.run(_measure(Path(made), server.kubeconfig, registry, crons, volumes))


async def _measure(
    directory: Path, kubeconfig: Path, registry: CountingRegistry, crons: int, volumes: int
) -> list[Bound]:
    async with Client.connect(load(kubeconfig), on_warning=lambda _: None) as client:
        await populate(client, registry.host, crons, volumes)
        # What the population lacks of what controllers would have written, they write now.
        with _controllers(directory, kubeconfig) as first:
            await first.drained()
        before = await _revision(client)
        registry.asked()
        with _controllers(directory, kubeconfig) as process:
            seconds = await process.drained()
            used = process.cpu()
            written = await _revision(client) - before
            settled = process.memory()
            idle = registry.asked().total()
            began = time.perf_counter()
            await each(range(crons), lambda number: _look(client, f"disk-{number}"))
            await _looked(client, crons)
            polled = time.perf_counter() - began
            await process.drained()
            asked = registry.asked()
            most = process.memory(peak=True)
    return [
        Bound(f"start until {crons:,} crons and {volumes:,} volumes have been looked at", "s", seconds, 60.0),
        Bound("CPU of the controllers for that", "s", used, None),
        Bound("changes that they made, the Lease included", "", written, None),
        Bound("memory of the controllers after it", "MB", settled / 1e6, 500.0),
        Bound("memory of the controllers, at most", "MB", most / 1e6, None),
        Bound("requests to the registry at the start", "", idle, None),
        Bound("a look of all crons at once", "s", polled, None),
        Bound("requests for each cron that looks, on average", "", asked.total() / crons, 1.0),
        Bound("requests for one cron that looks, at most", "", max(asked.values(), default=0), 1.0),
    ]


async def _revision(client: Client) -> int:
    listed = await client.list(DATA_IMPORT_CRONS, NAMESPACE, limit=1)
    return int(listed["metadata"]["resourceVersion"])


async def _look(client: Client, name: str) -> None:
    patch = {"metadata": {"annotations": {names.CHECK_NOW: "now"}}}
    await client.patch(DATA_IMPORT_CRONS, name, patch, NAMESPACE)


async def _looked(client: Client, crons: int) -> None:
    while True:
        found = (await client.list(DATA_IMPORT_CRONS, NAMESPACE))["items"]
        if sum(cron["metadata"]["annotations"].get(names.CHECKED) == "now" for cron in found) == crons:
            return
        await asyncio.sleep(_PAUSE)


class _Controllers:
    """`ingot controllers` as a process of its own, whose figures say how it does."""

    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self._port = port
        self._began = time.perf_counter()

    async def drained(self) -> float:
        """Waits until it leads, nothing waits to be looked at, and nothing more has been; seconds since its start."""
        last, when = -1.0, self._began
        async with asyncio.timeout(_WAIT_SECONDS):
            while True:
                self._process.check()
                now = time.perf_counter()
                done, waiting = await asyncio.to_thread(self._state)
                if done != last or waiting or not done:
                    last, when = done, now
                elif now - when > 2 * _PAUSE:
                    return when - self._began
                await asyncio.sleep(_PAUSE)

    def _state(self) -> tuple[float, float]:
        """How many looks there were, and how many objects wait."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=60) as answer:
                text = answer.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return 0.0, 1.0
        sums = {"ingot_reconcile_total": 0.0, "ingot_queue_depth": 0.0, "ingot_controllers_leading": 0.0}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name in sums:
                    sums[sample.name] += sample.value
        leading = sums["ingot_controllers_leading"]
        return (sums["ingot_reconcile_total"], sums["ingot_queue_depth"]) if leading else (0.0, 1.0)

    def memory(self, *, peak: bool = False) -> int:
        field = "VmHWM:" if peak else "VmRSS:"
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field))

    def cpu(self) -> float:
        """Seconds of all its threads so far."""
        parts = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / 100


@contextmanager
def _controllers(directory: Path, kubeconfig: Path) -> Iterator[_Controllers]:
    (port,) = free_ports(1)
    options = ["--image", "ingot.example/ingot", "--kubeconfig", str(kubeconfig), "--metrics", f"127.0.0.1:{port}"]
    with Process("controllers", [*INGOT, "controllers", *options], directory / "controllers.log") as process:
        yield _Controllers(process, port)
