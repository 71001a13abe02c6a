import importlib
import sys

import click
import pytest
from click.testing import CliRunner

from ingot.cli import main
from ingot.cli.golden.group import COMMANDS as GOLDEN_COMMANDS
from ingot.cli.main import COMMANDS, cli
from ingot.cli.vm.group import COMMANDS as VM_COMMANDS

GROUPS = {"vm": VM_COMMANDS, "golden": GOLDEN_COMMANDS}


@pytest.mark.parametrize("name", [*COMMANDS, *(f"{group} {name}" for group, names in GROUPS.items() for name in names)])
def test_every_command_can_be_loaded_and_shows_help_with_an_example(name: str) -> None:
    done = CliRunner().invoke(cli, [*name.split(), "--help"])
    assert done.exit_code == 0
    assert f"ingot {name}" in done.output.partition("Example")[2]


def test_all_commands_are_listed() -> None:
    done = CliRunner().invoke(cli, ["--help"])
    assert done.exit_code == 0
    assert all(f"\n  {name} " in done.output for name in COMMANDS)


def test_an_unknown_command_is_refused() -> None:
    done = CliRunner().invoke(cli, ["frobnicate"])
    assert done.exit_code == 2
    assert "No such command 'frobnicate'" in done.output


def test_a_command_is_loaded_only_when_called() -> None:
    sys.modules.pop("ingot.cli.up", None)
    CliRunner().invoke(cli, ["status", "--help"])
    assert "ingot.cli.up" not in sys.modules
    importlib.import_module("ingot.cli.up")


def test_what_one_may_not_read_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command
    def closed() -> None:
        raise PermissionError(13, "Permission denied", "/secret")

    monkeypatch.setitem(COMMANDS, "closed", f"{__name__}:closed")
    monkeypatch.setattr(sys.modules[__name__], "closed", closed, raising=False)
    done = CliRunner().invoke(main.cli, ["closed"])
    assert (done.exit_code, done.output) == (
        1,
        "Error: /secret: Permission denied; run this as the user who owns it, or as root\n",
    )


@pytest.mark.parametrize("value", ["foo", "127.0.0.1", ":6440", "127.0.0.1:x", "127.0.0.1:65536", "[::1]"])
def test_bad_addresses_are_refused(value: str) -> None:
    done = CliRunner().invoke(cli, ["up", "--listen", value])
    assert done.exit_code == 2
    assert "is not ADDRESS:PORT, such as 127.0.0.1:6440 or [::1]:0" in done.output
