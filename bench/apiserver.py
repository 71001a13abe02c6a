"""The API server's promises: start, memory, creates, list and watch, ours beside kube-apiserver with etcd."""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvloop

from bench import load, watching
from bench.report import Row
from bench.servers import NAMES, Server, started

STARTS = 3
ROUNDS = 5
SECONDS = 3
OBJECTS = 10_000
LISTS = 7


def run(directory: Path) -> list[Row]:
    """Measures both, interleaved round by round, and returns the table."""
    rows = [_starts(directory)]
    with _both(directory, "memory") as servers:
        time.sleep(5)  # both settle after their start; what is measured is rest, not a condition
        rows.append(_row("memory, idle", "MB", [server.resident() / 1e6 for server in servers], 1 / 3))
        rows += _many(servers)
    with _both(directory, "speed") as servers:
        for clients in (1, 16):
            rows += _creates(servers, directory, clients)
        rows += _watches(servers)
    return rows


@contextmanager
def _both(directory: Path, mark: str) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        yield [stack.enter_context(started(name, _fresh(directory, name, mark))) for name in NAMES]


def _fresh(directory: Path, name: str, mark: str) -> Path:
    path = directory / f"{name}-{mark}"
    path.mkdir()
    return path


def _row(what: str, unit: str, values: list[float], bar: float | None, more_is_better: bool = False) -> Row:
    return Row(what, unit, values[0], values[1], bar, more_is_better)


def _starts(directory: Path) -> Row:
    times: dict[str, list[float]] = {name: [] for name in NAMES}
    for number in range(STARTS):
        for name in NAMES:
            with started(name, _fresh(directory, name, f"start{number}")) as server:
                times[name].append(server.seconds_to_answer)
    return _row("start to first answer", "s", [statistics.median(times[name]) for name in NAMES], 1 / 3)


def _creates(servers: list[Server], directory: Path, clients: int) -> list[Row]:
    rates: dict[str, list[load.Load]] = {server.name: [] for server in servers}
    namespace = f"create-{clients}"
    for server in servers:
        server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        load.create(server, directory, namespace, clients, 1, "warm")
    for number in range(ROUNDS):
        for server in servers:
            made = load.create(server, directory, namespace, clients, SECONDS, f"r{number}")
            rates[server.name].append(made)
    noun = "client" if clients == 1 else "clients"
    speed = [statistics.median(made.per_second for made in rates[name]) for name in NAMES]
    cost = [statistics.median(made.cpu_ms_each for made in rates[name]) for name in NAMES]
    return [
        _row(f"creates, {clients} {noun}", "/s", speed, 1.0, more_is_better=True),
        _row(f"CPU for each create, {clients} {noun}", "ms", cost, None),
    ]


def _many(servers: list[Server]) -> list[Row]:
    """Memory and list with so many objects."""
    for server in servers:
        server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "many"}})
        _fill(server)
    memory = _row(f"memory, {OBJECTS:,} objects", "MB", [server.resident() / 1e6 for server in servers], 1 / 3)
    walls: dict[str, list[float]] = {server.name: [] for server in servers}
    counts: dict[str, int] = {}
    cpu = {server.name: server.cpu() for server in servers}
    for _ in range(LISTS):
        for server in servers:
            begin = time.perf_counter()
            content = server.ask("GET", "/api/v1/namespaces/many/configmaps")
            walls[server.name].append(time.perf_counter() - begin)
            # Ours has put the namespace's CA beside them; kube-apiserver leaves that to a controller.
            counts[server.name] = sum(1 for item in json.loads(content)["items"] if item["metadata"].get("labels"))
    if set(counts.values()) != {OBJECTS}:
        raise RuntimeError(f"the lists differ: {counts}")
    used = [(server.cpu() - cpu[server.name]) / LISTS * 1000 for server in servers]
    wall = [statistics.median(walls[name]) * 1000 for name in NAMES]
    return [memory, _row(f"list of {OBJECTS:,}", "ms", wall, None), _row("CPU for each list", "ms", used, None)]


def _fill(server: Server) -> None:
    connection = server.connect()
    for number in range(OBJECTS):
        body = {"metadata": {"name": f"n{number:05}", "labels": {"app": "bench"}}, "data": {"key": load.VALUE}}
        connection.request("POST", "/api/v1/namespaces/many/configmaps", json.dumps(body), server.headers)
        connection.getresponse().read()
    connection.close()


def _watches(servers: list[Server]) -> list[Row]:
    found: dict[str, list[watching.Latency]] = {server.name: [] for server in servers}
    for number in range(3):
        for server in servers:
            namespace = f"watch-{number}"
            server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found[server.name].append(runner.run(watching.measure(server, namespace)))

    def median(of: Callable[[watching.Latency], float]) -> list[float]:
        return [statistics.median(of(each) for each in found[name]) for name in NAMES]

    title = f"watch latency, {watching.WATCHERS} watchers"
    return [
        _row(f"{title}, p50", "ms", median(lambda each: each.p50), None),
        _row(f"{title}, p99", "ms", median(lambda each: each.p99), 2.0),
    ]
