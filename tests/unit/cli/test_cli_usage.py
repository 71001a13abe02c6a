"""`--usage-type` is looked at before anything is started."""

import subprocess
import sys
from pathlib import Path

import pytest

from ingot.cli.child import NeedsMending
from ingot.cli.usage import check


def ingot(command: str, directory: Path, *usages: str) -> tuple[int, str]:
    """The exit code and what is said on standard error. A process of its own, for these change theirs."""
    words = [command, "--dir", str(directory), *(f"--usage-type={usage}" for usage in usages)]
    done = subprocess.run([sys.executable, "-m", "ingot", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("usages", "told"),
    [
        (["fast"], "'fast' is not NAME=DIR"),
        (["Fast=/x"], "'Fast' is no name of a usage type: take up to 63 of a-z, 0-9 and -"),
        ([f"{'a' * 64}=/x"], "is no name of a usage type"),
        (["fast=/x", "fast=/y"], "'fast' is given twice"),
    ],
)
def test_a_name_is_a_label(tmp_path: Path, usages: list[str], told: str) -> None:
    code, said = ingot("up", tmp_path, *usages)
    assert (code, told in said) == (2, True)


def test_a_directory_that_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    code, said = ingot("up", tmp_path, "fast=/proc/x")
    assert code == 1
    (line,) = said.splitlines()
    assert line.startswith("Error: --usage-type fast=/proc/x: nothing can be written there (")
    assert line.endswith("); mend that, or give another directory")


def test_a_directory_that_is_missing_is_made(tmp_path: Path) -> None:
    check({"fast": tmp_path / "a" / "b"})
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o711
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_an_agent_waits_for_a_person(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(_KUBECONFIG)
    code, said = ingot("agent", tmp_path, "fast=/proc/x")
    assert (code, "nothing can be written there" in said.splitlines()[-1]) == (NeedsMending.exit_code, True)


_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
current-context: a
"""
