"""Guests that run without any part of Ingot: found by their records and their QEMU processes."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingot.cli import agent
from ingot.cli.main import cli
from ingot.cli.residents import guests
from ingot.cli.status import _text
from ingot.kube.cache import Key
from ingot.node import farewell
from ingot.node.record import Record


def a_record(directory: Path, name: str, started: bool) -> None:
    uid = f"uid-{name}"
    Record(
        directory / "node" / "machines" / uid, uid, "default", name, f"residents-test_{name}", started=started
    ).save()


def test_only_guests_whose_qemu_runs_are_told(tmp_path: Path) -> None:
    for name, started in (("runs", True), ("ended", True), ("starting", False)):
        a_record(tmp_path, name, started)
    qemu = [sys.executable, "-c", "import time; time.sleep(60)", "-smbios", "type=11,value=ingot-instance:uid-runs"]
    with subprocess.Popen(qemu) as process:
        try:
            # Popen comes back a moment before the kernel shows the arguments of what it has started.
            while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
                assert process.poll() is None
            assert [str(guest) for guest in guests(tmp_path)] == ["default/runs"]
        finally:
            process.kill()
    assert guests(tmp_path) == []
    assert guests(tmp_path / "none") == []


@pytest.mark.parametrize("left", [[], [Key("default", "stuck")]])
def test_guests_that_cannot_be_ended_are_told_and_fail_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: list[Key]
) -> None:
    async def end_guests(*_: object) -> farewell.Farewell:
        return farewell.Farewell(forced=[Key("default", "slow")], left=left)

    (tmp_path / "node").mkdir()
    monkeypatch.setattr(farewell, "end_guests", end_guests)
    monkeypatch.setattr(agent, "guest_user", lambda _: None)
    result = CliRunner().invoke(cli, ["down", "--dir", str(tmp_path), "--guests"])
    assert result.exit_code == len(left)
    assert "default/slow did not shut down in 30 s, and was ended\n" in result.stdout
    assert ("default/stuck cannot be killed: QEMU waits" in result.stderr) is bool(left)


def test_the_table_of_what_runs() -> None:
    found = {
        "directory": "/d",
        "state": "Ready",
        "uptimeSeconds": 5,
        "machine": {"state": "Running", "pid": 7, "restarts": 0},
        "agent": {"state": "NeedsMending", "restarts": 2, "message": "no libvirt"},
        "nodes": [{"name": "here", "state": "Ready"}],
        "guests": ["default/a"],
    }
    assert _text(found).splitlines() == [
        "directory:  /d",
        "state:      Ready",
        "uptime:     5 s",
        "",
        "PART      STATE          PID   RESTARTS",
        "machine   Running        7     0",
        "agent     NeedsMending         2          no libvirt",
        "node      Ready                           here",
        "guest     Running                         default/a",
    ]
