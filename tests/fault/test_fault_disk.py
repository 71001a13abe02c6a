"""A full disk and a damaged file: told plainly, and nothing is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault.talk import CONFIG_MAPS, Talk, config_map
from ingot_up import IngotUp
from kube.server import INGOT


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory that is a small filesystem of its own. Skips where none can be mounted."""
    directory = tmp_path / "data"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=700", "none", str(directory)]
    ended = subprocess.run(mount, capture_output=True, text=True)
    if ended.returncode:
        pytest.skip(f"a small filesystem cannot be mounted: {ended.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_full_disk_is_a_clear_error_and_heals(small_disk: Path) -> None:
    with IngotUp(small_disk) as server:
        talk = Talk(server)
        written, refusal = [], {}
        for number in range(200):
            code, answer = talk.ask("POST", CONFIG_MAPS, config_map(f"n{number}", "x" * 200_000))
            if code != 201:
                refusal = answer
                break
            written.append(f"n{number}")
        assert refusal["code"] == 507
        assert refusal["reason"] == "InsufficientStorage"
        assert "no space left" in refusal["message"]
        # It still reads, and says so again rather than dying.
        assert talk.ask("GET", f"{CONFIG_MAPS}/{written[-1]}")[0] == 200
        assert talk.ask("POST", CONFIG_MAPS, config_map("again", "x" * 200_000))[0] == 507
        for name in written:
            code, _ = talk.ask("DELETE", f"{CONFIG_MAPS}/{name}")
            assert code in (200, 507)
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        for number in range(20):
            code, answer = talk.ask("POST", CONFIG_MAPS, config_map(f"after{number}", "x" * 200_000))
            assert code == 201, answer
        talk.close()


def refused(directory: Path) -> subprocess.CompletedProcess[str]:
    """How `ingot up` ends on a directory that it cannot serve."""
    command = [*INGOT, "up", "--dir", str(directory), "--listen", "127.0.0.1:0", "--only-api"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_a_damaged_database_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with IngotUp(tmp_path / "data"):
        pass
    database = tmp_path / "data" / "ingot.db"
    damaged = b"\x00" * 4096 + database.read_bytes()[4096:]
    database.write_bytes(damaged)
    ended = refused(tmp_path / "data")
    assert ended.returncode == 1
    assert "is damaged" in ended.stderr
    assert "restore the file from a backup" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert database.read_bytes() == damaged


def test_a_second_server_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with IngotUp(tmp_path / "data") as server:
        ended = refused(tmp_path / "data")
        assert ended.returncode == 1
        assert f"pid {server.process.pid}" in ended.stderr
        assert "ingot down" in ended.stderr
        assert Talk(server).ask("GET", CONFIG_MAPS)[0] == 200
