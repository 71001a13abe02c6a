"""`ingot machine` and `ingot agent` where they cannot work: one line, and the exit code that says so."""

import fcntl
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from ingot.cli import child
from ingot.cli.agent import guest_user
from ingot.cli.child import NeedsMending
from ingot.cli.main import cli
from ingot.standalone.children import NEEDS_MENDING

pytestmark = pytest.mark.usefixtures("unchanged_umask")


@pytest.fixture
def unchanged_umask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.umask", lambda _: 0)


@pytest.mark.parametrize("command", ["machine", "agent"])
def test_without_a_server_there_is_nothing_to_work_for(tmp_path: Path, command: str) -> None:
    done = CliRunner().invoke(cli, [command, "--dir", str(tmp_path)])
    assert done.exit_code == NEEDS_MENDING
    why = f"{tmp_path}/kubeconfig is not there; start the server with `ingot up`, or give another --kubeconfig"
    assert done.output == f"Error: {why}\n"


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["machine", "--dir", str(tmp_path / "none")])
    assert done.exit_code == NEEDS_MENDING
    assert done.output == f"Error: {tmp_path}/none is not there; `ingot up --dir {tmp_path}/none` makes it\n"


def test_two_of_them_do_not_work_on_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_PATIENCE", 0.0)
    with (tmp_path / "machine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = CliRunner().invoke(cli, ["machine", "--dir", str(tmp_path)])
    assert done.exit_code == NEEDS_MENDING
    assert done.output == f"Error: another `ingot machine` works on {tmp_path}; end it first\n"


@pytest.mark.parametrize("value", ["fast", "=/mnt", "fast="])
def test_a_usage_type_is_a_name_and_a_directory(value: str) -> None:
    for command in ("up", "agent"):
        done = CliRunner().invoke(cli, [command, "--usage-type", value])
        assert done.exit_code == 2
        assert f"{value!r} is not NAME=DIR, such as fast=/mnt/nvme" in done.output


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def become(uid: int) -> None:
        monkeypatch.setattr("os.geteuid", lambda: 0)
        monkeypatch.setattr(pwd, "getpwnam", lambda _: SimpleNamespace(pw_uid=uid, pw_gid=uid))

    return become


def test_the_guests_user_must_reach_the_directory(tmp_path: Path, as_root: Callable[[int], None]) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "d").mkdir(mode=0o711)
    as_root(os.getuid() + 1)
    with pytest.raises(NeedsMending, match=f"{closed} may not be entered by libvirt-qemu.*; chmod o\\+x {closed}"):
        guest_user(closed / "d")


def test_an_ordinary_user_runs_guests_himself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert guest_user(tmp_path) is None
