"""The store: what is acknowledged is durable, and the revision only grows."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.jsontext import decode
from ingot.standalone.store.faults import DatabaseDamagedError, DatabaseError, DatabaseFullError
from ingot.standalone.store.history import Change
from ingot.standalone.store.store import Store


def thing(name: str, **data: str) -> Object:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


async def put(store: Store, name: str, **data: str) -> None:
    await store.put("configmaps", "default", name, thing(name, **data))


def names(store: Store, revision: int = 0) -> list[str]:
    entries = store.at("configmaps", revision) if revision else store.collection("configmaps")
    return sorted(entry.name for entry in entries)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    made = Store(tmp_path / "ingot.db")
    yield made
    made.close()


async def test_a_write_is_there_after_a_restart_with_its_revision(tmp_path: Path) -> None:
    first = Store(tmp_path / "ingot.db")
    await put(first, "a", key="1")
    await put(first, "b")
    await first.remove("configmaps", "default", "b")
    first.close()

    second = Store(tmp_path / "ingot.db")
    entry = second.get("configmaps", "default", "a")
    assert entry is not None
    assert decode(entry.value)["data"] == {"key": "1"}
    assert decode(entry.value)["metadata"]["resourceVersion"] == str(entry.revision)
    assert names(second) == ["a"]
    assert second.revision == 3
    await put(second, "c")
    assert second.revision == 4
    second.close()


async def test_a_reader_sees_only_what_is_durable_a_writer_what_is_on_its_way(store: Store) -> None:
    writing = asyncio.ensure_future(put(store, "a"))
    await asyncio.sleep(0)
    assert store.get("configmaps", "default", "a") is None
    assert store.latest("configmaps", "default", "a") is not None
    await writing
    assert store.get("configmaps", "default", "a") is not None


async def test_many_writers_share_commits_and_keep_their_order(store: Store) -> None:
    heard: list[int] = []
    store.listen(lambda change: heard.append(change.revision))
    await asyncio.gather(*(put(store, f"n{number}") for number in range(200)))
    assert heard == sorted(heard)
    assert len(heard) == 200
    assert store.revision == 200


async def test_listeners_hear_what_was_and_what_is(store: Store) -> None:
    heard: list[Change] = []
    forget = store.listen(heard.append)
    await put(store, "a", key="1")
    await put(store, "a", key="2")
    await store.remove("configmaps", "default", "a")
    forget()
    await put(store, "b")
    assert [(change.old is not None, change.new is not None) for change in heard] == [
        (False, True),
        (True, True),
        (True, False),
    ]


async def test_an_older_list_can_be_read_again(store: Store) -> None:
    await put(store, "a")
    await put(store, "b")
    revision = store.revision
    await store.remove("configmaps", "default", "a")
    await put(store, "c")
    assert names(store, revision) == ["a", "b"]
    assert names(store) == ["b", "c"]


async def test_a_full_disk_fails_writes_on_their_way_and_heals(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await put(store, "a")
    commit = store._database.commit
    full = True

    def sometimes(*arguments: object) -> None:
        if full:
            raise DatabaseFullError(store._database.path)
        commit(*arguments)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(store._database, "commit", sometimes)
    outcomes = await asyncio.gather(*(put(store, f"n{number}") for number in range(20)), return_exceptions=True)
    assert all(isinstance(outcome, ApiError) and outcome.code == 507 for outcome in outcomes)
    assert store.latest("configmaps", "default", "n0") is None
    full = False
    await put(store, "b")
    assert names(store) == ["a", "b"]


async def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ingot.db"
    path.write_bytes(b"this is not a database, but long enough to be taken for one" * 100)
    before = path.read_bytes()
    with pytest.raises(DatabaseDamagedError, match="restore the file from a backup"):
        Store(path)
    assert path.read_bytes() == before


async def test_a_damaged_page_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ingot.db"
    first = Store(path)
    await asyncio.gather(*(put(first, f"n{number}", key="x" * 500) for number in range(300)))
    first.close()
    damaged = bytearray(path.read_bytes())
    for start in range(8192, len(damaged), 4096):
        damaged[start : start + 64] = b"\xa5" * 64
    path.write_bytes(bytes(damaged))
    with pytest.raises(DatabaseDamagedError, match="left as it is"):
        Store(path)


async def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ingot.db"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE fact SET value = 99 WHERE name = 'format'")
    connection.close()
    with pytest.raises(DatabaseError, match="format 99"):
        Store(path)


async def test_history_forgets_the_oldest_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.standalone.store.history.MAX_CHANGES", 5)
    for number in range(8):
        await put(store, f"n{number}")
    assert store.history.floor == 3
    assert [change.revision for change in store.history.since(3)] == [4, 5, 6, 7, 8]


async def test_the_file_is_private(store: Store, tmp_path: Path) -> None:
    assert (tmp_path / "ingot.db").stat().st_mode & 0o077 == 0


async def test_a_listener_that_fails_holds_up_nobody(store: Store) -> None:
    heard: list[int] = []

    def fail(_: Change) -> None:
        raise ValueError("odd object")

    store.listen(fail)
    store.listen(lambda change: heard.append(change.revision))
    async with asyncio.timeout(5):
        await asyncio.gather(put(store, "a"), put(store, "b"))
    assert heard == [1, 2]
    assert names(store) == ["a", "b"]


async def test_what_is_not_there_cannot_be_removed(store: Store) -> None:
    await put(store, "a")
    removing = asyncio.ensure_future(store.remove("configmaps", "default", "a"))
    await asyncio.sleep(0)
    with pytest.raises(LookupError, match="is not there"):
        await store.remove("configmaps", "default", "a")
    await removing
    assert store.revision == 2


async def test_a_locked_file_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ingot.db"
    Store(path).close()
    monkeypatch.setattr("ingot.standalone.store.database.PATIENCE_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DatabaseError, match=r"in use .* end the other program") as refused:
        Store(path)
    assert not isinstance(refused.value, DatabaseDamagedError)
    other.close()
