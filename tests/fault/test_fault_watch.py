"""Watchers that stop reading: they are let go, and cost us nothing."""

from __future__ import annotations

import select
import ssl
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
        before = resident(server)
        watchers = [stalled_watch(server) for _ in range(STALLED)]
        write(talk, "e")
        assert resident(server) - before < ALLOWED
        for watcher in watchers:
            assert _is_cut(watcher), "the server still holds what the watcher does not read"
        assert talk.ask("GET", f"{CONFIG_MAPS}/big")[0] == 200


def _is_cut(talk: Talk) -> bool:
    """Whether the server has ended the connection: reading what is left comes to an end."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        readable, _, _ = select.select([talk.connection.sock], [], [], 5)
        if not readable and not talk.connection.sock.pending():  # type: ignore[attr-defined]  # a TLS socket
            return False
        try:
            if not talk.connection.sock.recv(1 << 16):
                return True
        except (ConnectionError, ssl.SSLError):
            return True
    return False
