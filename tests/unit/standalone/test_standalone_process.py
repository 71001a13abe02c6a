import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingot.standalone import process
from ingot.standalone.process import DirectoryInUseError, DirectoryLock, NotEndedError, Record

# A server in small: holds the lock, tells its address, and ends at SIGTERM or not, as its second argument says.
SERVER = """
import signal, sys
from pathlib import Path
from ingot.standalone.process import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]))
lock.acquire()
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if sys.argv[2] != "starting":
    lock.publish("https://127.0.0.1:1")
print("up", flush=True)
signal.pause()
"""


@contextmanager
def server(directory: Path, how: str = "") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SERVER, str(directory), how]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "up\n"
            yield running
        finally:
            running.kill()


def test_a_directory_has_one_server(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        with pytest.raises(DirectoryInUseError) as caught:
            DirectoryLock(tmp_path).acquire()
        assert str(caught.value) == (
            f"{tmp_path} is in use by pid {first.pid} at https://127.0.0.1:1; end it with: ingot down --dir {tmp_path}"
        )
        record = process.running(tmp_path)
        assert record is not None
        assert (record.pid, record.address) == (first.pid, "https://127.0.0.1:1")


def test_a_killed_server_leaves_the_directory_free(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        first.kill()
        first.wait()
        assert (tmp_path / "process.json").exists()
        assert process.running(tmp_path) is None
        assert not process.is_locked(tmp_path)
        with DirectoryLock(tmp_path):
            assert process.is_locked(tmp_path)


def test_a_server_that_is_starting_is_not_running_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_PATIENCE", 0.05)
    with server(tmp_path, "starting"):
        assert process.running(tmp_path) is None
        assert process.is_locked(tmp_path)
        with pytest.raises(DirectoryInUseError, match="in use by a process that is just starting"):
            DirectoryLock(tmp_path).acquire()
        assert process.end(tmp_path, 1) is None


def test_who_only_looks_does_not_keep_a_server_out(tmp_path: Path) -> None:
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            process.is_locked(tmp_path)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(20):
            with DirectoryLock(tmp_path):
                pass
    finally:
        ended.set()
        looking.join()


def test_the_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "a" / "b" / "lock").stat().st_mode & 0o777 == 0o600


def test_withdrawing_leaves_no_trace(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path) as lock:
        lock.publish("https://127.0.0.1:1")
        assert process.running(tmp_path) is not None
        lock.withdraw()
        assert process.running(tmp_path) is None
        lock.withdraw()


def test_ending_waits_for_the_end(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        record = process.end(tmp_path, 10)
        assert record is not None
        assert running.wait(0) == -signal.SIGTERM
        assert not process.is_locked(tmp_path)


def test_ending_nothing_is_nothing(tmp_path: Path) -> None:
    assert process.end(tmp_path, 1) is None
    assert process.end(tmp_path / "missing", 1) is None


def test_a_server_that_does_not_end_is_told(tmp_path: Path) -> None:
    with server(tmp_path, "stubborn") as running:
        with pytest.raises(NotEndedError, match=rf"pid {running.pid} .* did not end in 0\.1 s; see .*ingot\.log"):
            process.end(tmp_path, 0.1)
        assert running.poll() is None


def test_a_stranger_with_the_old_number_is_never_signalled(tmp_path: Path) -> None:
    """The record of a killed server may name a pid that another program has by now."""
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as stranger:
        try:
            stale = {"pid": stranger.pid, "born": 1, "address": "https://127.0.0.1:1", "since": 0.0}
            with DirectoryLock(tmp_path):
                (tmp_path / "process.json").write_text(json.dumps(stale))
                assert process.end(tmp_path, 1) is None
            assert stranger.poll() is None
        finally:
            stranger.kill()


@pytest.mark.parametrize("content", ["", "rubbish", "[]", '{"pid": 1}'])
def test_a_damaged_record_is_none(tmp_path: Path, content: str) -> None:
    with DirectoryLock(tmp_path):
        (tmp_path / "process.json").write_text(content)
        assert process.running(tmp_path) is None


def test_a_record_is_of_one_life() -> None:
    record = Record.of_this_process("https://127.0.0.1:1")
    assert record.alive()
    assert abs(record.since - time.time()) < 5
    assert not Record(record.pid, record.born + 1, "", 0).alive()
    assert not Record(2**22 + 1, record.born, "", 0).alive()
