"""Watchers that stop reading: they are let go, and cost us nothing."""

from __future__ import annotations

import time
from pathlib import Path

from fault.talk import CONFIG_MAPS, Talk, config_map
from ingot_up import IngotUp

STALLED = 30
WRITES = 400
# Well below what 30 watchers times 400 events of 20 kB would need (240 MB).
ALLOWED = 40_000_000


def resident(server: IngotUp) -> int:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


def write(talk: Talk, mark: str) -> None:
    for number in range(WRITES):
        code, _ = talk.ask("PUT", f"{CONFIG_MAPS}/big", config_map("big", f"{mark}{number}" + "x" * 20_000))
        assert code == 200


def stalled_watch(server: IngotUp) -> Talk:
    talk = Talk(server)
    talk.connection.connect()
    # A small window: what is unread stays with the server rather than in the kernel.
    talk.connection.sock.setsockopt(1, 8, 4096)
    talk.connection.request("GET", f"{CONFIG_MAPS}?watch=1", headers=talk.headers)
    return talk


def test_a_watcher_that_stops_reading_does_not_grow_our_memory(tmp_path: Path) -> None:
    with IngotUp(tmp_path / "data") as server:
        talk = Talk(server)
        talk.ask("POST", CONFIG_MAPS, config_map("big"))
        # Fills the history, which is bounded, before anything is compared.
        for mark in "abcd":
            write(talk, mark)
        before, open_before = resident(server), descriptors(server)
        watchers = [stalled_watch(server) for _ in range(STALLED)]
        write(talk, "e")
        assert resident(server) - before < ALLOWED
        deadline = time.monotonic() + 20
        while descriptors(server) > open_before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert descriptors(server) == open_before, "the server still holds what the watchers do not read"
        assert talk.ask("GET", f"{CONFIG_MAPS}/big")[0] == 200
        for watcher in watchers:
            watcher.close()


def descriptors(server: IngotUp) -> int:
    return sum(1 for _ in Path(f"/proc/{server.process.pid}/fd").iterdir())
