"""Connections and passes that a client keeps: few, and not for long, whatever servers do. That of a cron's source lives
as long as the controllers."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from images.servers.faulty import Asked, FaultyServer, answer
from ingot.images.reference import Reference
from ingot.images.registry import pool
from ingot.images.registry.address import Origin
from ingot.images.registry.client import Registry
from ingot.images.registry.pool import Line, Pool
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Request, Transport

KEPT = 4
DIGEST = f"sha256:{'a' * 64}"


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of connections; a test moves it."""
    time = [1000.0]
    monkeypatch.setattr(pool, "time", SimpleNamespace(monotonic=lambda: time[0]))
    return time


@pytest.fixture
def listeners() -> Iterator[list[socket.socket]]:
    """Servers that take connections, and say nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3 * KEPT)]


def called(lines: Pool, listener: socket.socket) -> tuple[Line, socket.socket]:
    """A connection of the pool to that server, and its other end."""
    line = lines.take(Origin("http", "127.0.0.1", listener.getsockname()[1]))
    lines.connect(line, lambda near: None)
    peer, _ = listener.accept()
    peer.settimeout(5.0)
    return line, peer


def test_few_are_kept_whomever_they_lead_to(listeners: list[socket.socket]) -> None:
    lines = Pool(Settings(kept=KEPT))
    ends = [called(lines, listener) for listener in listeners]
    for line, _ in ends:
        lines.give(line)
    for _, peer in ends[:-KEPT]:
        assert peer.recv(1) == b""
    for line, _ in ends[-KEPT:]:
        assert lines.take(line.origin) is line
    lines.close()
    for _, peer in ends:
        peer.close()


def test_none_is_kept_for_long_though_nobody_asks_its_server_again(
    listeners: list[socket.socket], now: list[float]
) -> None:
    lines = Pool(Settings())
    (first, peer), (second, other) = (called(lines, listener) for listener in listeners[:2])
    with peer, other:
        lines.give(first)
        now[0] += 30
        lines.give(second)
        assert lines.take(first.origin) is first
        lines.give(first)
        assert lines.take(second.origin) is second
        now[0] += 51
        lines.give(second)
        assert peer.recv(1) == b""
        now[0] += 51
        lines.tidy()
        assert other.recv(1) == b""


def test_a_server_that_sends_us_around_does_not_use_up_descriptors(settings: Settings) -> None:
    """Each port is another server to us."""

    def handler(asked: Asked, client: socket.socket) -> None:
        left = int(asked.path[1:])
        if left:
            answer(client, 302, location=f"http://{random.choice(servers).host}/{left - 1}")  # noqa: S311
        else:
            answer(client, 200, etag='"a"')

    with ExitStack() as stack:
        servers = [stack.enter_context(FaultyServer(handler)) for _ in range(40)]
        before = descriptors()
        transport = Transport(replace(settings, kept=KEPT))
        for _ in range(30):
            transport.request(Request("HEAD", f"{servers[0].url}/6", "x")).discard()
        deadline = time.monotonic() + 10
        # Both ends are ours; the servers close theirs when they hear of it.
        while descriptors() > before + 2 * KEPT and time.monotonic() < deadline:
            time.sleep(0.02)
        assert descriptors() <= before + 2 * KEPT
        transport.close()


def test_no_two_threads_get_the_same() -> None:
    lines, lent, lock = Pool(Settings(kept=KEPT)), set[int](), threading.Lock()

    def work(number: int) -> None:
        for turn in range(30):
            line = lines.take(origins[(number + turn) % len(origins)])
            with lock:
                assert id(line) not in lent
                lent.add(id(line))
            lines.connect(line, lambda near: None)
            with lock:
                lent.remove(id(line))
            lines.give(line)

    with ExitStack() as stack, ThreadPoolExecutor(8) as threads:
        servers = [stack.enter_context(FaultyServer(lambda asked, client: None)) for _ in range(3)]
        origins = [Origin("http", "127.0.0.1", server.port) for server in servers]
        list(threads.map(work, range(8)))
        lines.close()


def test_passes_are_kept_for_the_repositories_that_were_asked_for_last(settings: Settings) -> None:
    token = json.dumps({"token": "x" * 30_000, "expires_in": 3600}).encode()

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/token"):
            answer(client, 200, token)
        elif "authorization" in asked.headers:
            answer(client, 200, docker_content_digest=DIGEST)
        else:
            answer(client, 401, www_authenticate=f'Bearer realm="{server.url}/token"')

    def tokens(number: int) -> int:
        """How many are asked for to read that repository."""
        before = len(server.asked)
        client.digest(Reference.parse(f"{server.host}/disks/{number}"))
        return sum(asked.path.startswith("/token") for asked in server.asked[before:])

    with FaultyServer(handler) as server, Registry(settings) as client:
        assert [tokens(number) for number in range(100)] == [1] * 100
        assert tokens(99) == 0
        assert tokens(0) == 1
