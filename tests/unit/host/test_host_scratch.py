"""Directories that go with the process that made them, at the latest when the next one comes."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ingot.host.scratch import ScratchDirectory

HOLD = """
import sys
from ingot.host.scratch import ScratchDirectory
print(ScratchDirectory("ingot-test-").path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def aged(path: Path) -> Path:
    os.utime(path, (1e9, 1e9))
    return path


def test_it_is_private_and_goes_at_the_end() -> None:
    with ScratchDirectory("ingot-test-") as scratch:
        (scratch.path / "file").write_bytes(b"something")
        assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
    assert not scratch.path.exists()


def test_what_a_killed_process_left_goes_and_what_another_uses_stays(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = aged(Path(process.stdout.readline().strip()))
        ScratchDirectory("ingot-test-").close()
        assert left.is_dir()
        process.send_signal(signal.SIGKILL)
        process.wait()
    young, elsewhere = tmp_path / "ingot-test-young", tmp_path / "elsewhere"
    young.mkdir()
    elsewhere.mkdir()
    aged(elsewhere)
    (tmp_path / "ingot-test-link").symlink_to(elsewhere)
    ScratchDirectory("ingot-test-").close()
    assert not left.exists()
    assert young.is_dir()
    assert elsewhere.is_dir()
