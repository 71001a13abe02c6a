"""What is remembered of an import, and when it counts."""

import os
from pathlib import Path

import pytest

from ingot.images.pipeline import journal as journals
from ingot.images.pipeline.journal import Finished, Journal, State

STATE = State(plan=b"plan", done=b"\x03", moved=2)
LATER = State(plan=b"plan", done=b"\x07", moved=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_goes_on_where_it_was(path: Path) -> None:
    Journal(path, "source", "raw", "place").save(STATE)
    assert Journal(path, "source", "raw", "place").load() == STATE


@pytest.mark.parametrize(
    ("source", "wanted", "place"),
    [("other", "raw", "place"), ("source", "qcow2", "place"), ("source", "raw", "elsewhere")],
)
def test_another_import_begins_anew(path: Path, source: str, wanted: str, place: str) -> None:
    Journal(path, "source", "raw", "place").save(STATE)
    assert Journal(path, source, wanted, place).load() is None


def test_a_source_without_identity_begins_anew(path: Path) -> None:
    Journal(path, "", "raw", "place").save(STATE)
    assert Journal(path, "", "raw", "place").load() is None


def test_after_a_restart_only_what_was_synced_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Journal(path, "source", "raw", "place")
    written.save(LATER)
    monkeypatch.setattr(journals, "boot_id", lambda: "another boot")
    assert Journal(path, "source", "raw", "place").load() is None
    written.save_durable(STATE)
    written.save(LATER)
    assert Journal(path, "source", "raw", "place").load() == STATE


def test_what_is_synced_counts_as_long_as_the_machine_runs_too(path: Path) -> None:
    written = Journal(path, "source", "raw", "place")
    written.save(STATE)
    written.save_durable(LATER)
    assert written.moved == LATER.moved
    assert Journal(path, "source", "raw", "place").load() == LATER


def test_what_counted_after_a_restart_still_does_after_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Journal(path, "source", "raw", "place").save_durable(STATE)
    monkeypatch.setattr(journals, "boot_id", lambda: "second boot")
    second = Journal(path, "source", "raw", "place")
    assert second.load() == STATE
    second.save(LATER)
    monkeypatch.setattr(journals, "boot_id", lambda: "third boot")
    assert Journal(path, "source", "raw", "place").load() == STATE


def test_who_begins_anew_does_not_go_on_from_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved next is of other bytes: after a restart nothing of the first attempt must count."""
    again = Journal(path, "source", "raw", "place")
    again.save_durable(LATER)
    again.remove()
    again.save(STATE)
    assert Journal(path, "source", "raw", "place").load() == STATE
    monkeypatch.setattr(journals, "boot_id", lambda: "another boot")
    assert Journal(path, "source", "raw", "place").load() is None


@pytest.mark.parametrize("damage", [b"", b"\x00", b"nonsense", b"\xff" * 100])
def test_a_damaged_journal_is_none(path: Path, damage: bytes) -> None:
    Journal(path, "source", "raw", "place").save(STATE)
    path.write_bytes(damage)
    assert Journal(path, "source", "raw", "place").load() is None


def test_a_truncated_journal_is_none(path: Path) -> None:
    Journal(path, "source", "raw", "place").save(STATE)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert Journal(path, "source", "raw", "place").load() is None


def test_says_what_is_finished_wherever_its_bytes_were(path: Path) -> None:
    first = Journal(path, "source", "raw", "place")
    first.save(STATE)
    first.save_finished(Finished("mark", 4096), for_good=False)
    assert Journal(path, "source", "raw", "elsewhere").finished() == Finished("mark", 4096)
    assert Journal(path, "source", "qcow2", "place").finished() is None
    assert Journal(path, "", "raw", "place").finished() is None
    assert Journal(path, "source", "raw", "place").load() == STATE


def test_nobody_goes_on_with_what_is_finished_for_good(path: Path) -> None:
    first = Journal(path, "source", "raw", "place")
    first.save_durable(STATE)
    first.save(LATER)
    first.save_finished(Finished("mark", 4096), for_good=True)
    assert Journal(path, "source", "raw", "place").load() is None


def test_what_others_may_have_written_is_none(path: Path) -> None:
    Journal(path, "source", "raw", "place").save(STATE)
    second = path.with_name("second name")
    second.hardlink_to(path)
    assert Journal(path, "source", "raw", "place").load() is None
    second.unlink()
    assert Journal(path, "source", "raw", "place").load() == STATE
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        assert Journal(path, "source", "raw", "place").load() is None
    scratch = path.with_name("journal.new")
    scratch.write_bytes(b"planted")
    scratch.chmod(0o666)
    Journal(path, "source", "raw", "place").save(STATE)
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (os.geteuid(), 0o600)


def test_nobody_else_reads_it(path: Path) -> None:
    Journal(path, "source", "raw", "place").save(STATE)
    assert path.stat().st_mode & 0o777 == 0o600
