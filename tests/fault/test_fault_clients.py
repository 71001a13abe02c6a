"""Clients that ask for much and read nothing, or that say too much: they cost us little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fault.talk import CONFIG_MAPS, Talk, config_map
from ingot_up import IngotUp

UNREAD = 30
OBJECTS = 100
SIZE = 100_000
# A connection costs half a megabyte, read or unread; thirty lists of ten would need 300 MB.
ALLOWED = 45_000_000
JSON = "application/json"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with IngotUp(tmp_path_factory.mktemp("clients") / "data") as server:
        talk = Talk(server)
        for number in range(OBJECTS):
            assert talk.ask("POST", CONFIG_MAPS, config_map(f"n{number}", "x" * SIZE))[0] == 201
        yield server


def resident(server: IngotUp) -> int:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


def unread(server: IngotUp, path: str, headers: dict[str, str]) -> Talk:
    talk = Talk(server)
    talk.connection.connect()
    # A small window: what is unread stays with the server rather than in the kernel.
    talk.connection.sock.setsockopt(1, 8, 4096)
    talk.connection.request("GET", path, headers={**talk.headers, **headers})
    return talk


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", {}),
        ("", {"User-Agent": "curl"}),
        ("?includeObject=Object", {"Accept": f"{JSON};as=Table;g=meta.k8s.io;v=v1"}),
        ("", {"Accept": "application/yaml"}),
    ],
    ids=["plain", "indented", "table", "yaml"],
)
def test_lists_that_nobody_reads_do_not_grow_our_memory(server: IngotUp, query: str, headers: dict[str, str]) -> None:
    talk = Talk(server)
    # What making the form at all costs is not what is compared.
    talk.connection.request("GET", CONFIG_MAPS + query, headers={**talk.headers, **headers})
    assert len(talk.connection.getresponse().read()) > OBJECTS * SIZE
    before = resident(server)
    clients = [unread(server, CONFIG_MAPS + query, headers) for _ in range(UNREAD)]
    # One that reads is answered after all of them have been.
    assert talk.ask("GET", f"{CONFIG_MAPS}/n1")[0] == 200
    assert resident(server) - before < ALLOWED
    for client in clients:
        client.close()


def test_long_questions_are_not_kept(server: IngotUp) -> None:
    talk = Talk(server)
    before = resident(server)
    for number in range(100):
        talk.connection.request("GET", f"/api/v1/pods?labelSelector=a{number}{'x' * 900_000}")
        answer = talk.connection.getresponse()
        assert answer.status in (401, 403), answer.read()
        answer.read()
        talk.connection.request("GET", f"/api/v1/namespaces/a{number}{'x' * 500_000}/pods")
        answer = talk.connection.getresponse()
        assert answer.status in (401, 403), answer.read()
        answer.read()
    assert resident(server) - before < ALLOWED
