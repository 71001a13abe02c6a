"""`ingot doctor`: the table, the JSON and the exit code, for checks that are given."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ingot.cli.main import cli
from ingot.node.doctor import examination
from ingot.node.doctor.check import Check, fail, ok, warn


def doctor(monkeypatch: pytest.MonkeyPatch, checks: list[Check], *arguments: str) -> Result:
    async def examine(*_: Any) -> list[Check]:
        return checks

    monkeypatch.setattr(examination, "examine", examine)
    return CliRunner().invoke(cli, ["doctor", "--dir", "/lab", *arguments])


def test_a_machine_that_boots(monkeypatch: pytest.MonkeyPatch) -> None:
    result = doctor(monkeypatch, [ok("qemu", "7.2"), warn("tini", "not found", "apt-get install tini")])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "ok    qemu  7.2",
        "warn  tini  not found",
        "            → apt-get install tini",
        "",
        "Virtual machines can be booted here.",
    ]


def test_a_machine_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    result = doctor(monkeypatch, [fail("qemu", "no guest can run", "apt-get install qemu-system-x86")])
    assert result.exit_code == 1
    assert "No virtual machine can be booted here." in result.output


def test_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    result = doctor(monkeypatch, [fail("qemu", "none", "mend it")], "--output", "json")
    assert result.exit_code == 1
    assert json.loads(result.output) == {
        "directory": str(Path("/lab")),
        "canBoot": False,
        "checks": [{"name": "qemu", "verdict": "fail", "found": "none", "cure": "mend it"}],
    }
