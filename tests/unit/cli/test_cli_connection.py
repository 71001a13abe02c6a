"""Which server a command talks to."""

from pathlib import Path

import click
import pytest

from ingot.cli.connection import Connection, find_kubeconfig, load_config
from ingot.standalone.process import DirectoryLock


def kubeconfig(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u, namespace: lab}}]\n"
        "current-context: c\n"
    )
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and no word about a server in the environment."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".local" / "state"))
    return tmp_path


def test_a_file_that_was_named_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(home / "env", "https://env")))
    named = kubeconfig(home / "named", "https://named")
    config, source = load_config(Connection(kubeconfig=str(named)))
    assert (config.server, config.namespace, source) == ("https://named", "lab", str(named))


def test_the_environment_wins_over_the_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig(home / ".kube" / "config", "https://home")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(home / "env", "https://env")))
    assert load_config(Connection())[0].server == "https://env"


def test_the_home_is_used_when_nothing_else_says(home: Path) -> None:
    kubeconfig(home / ".kube" / "config", "https://home")
    config, source = load_config(Connection())
    assert (config.server, source) == ("https://home", "~/.kube/config")


def test_a_server_of_this_machine_wins_over_the_home_while_it_runs(home: Path) -> None:
    kubeconfig(home / ".kube" / "config", "https://home")
    directory = home / ".local" / "state" / "ingot"
    kubeconfig(directory / "kubeconfig", "https://local")
    assert load_config(Connection())[0].server == "https://home"
    with DirectoryLock(directory) as lock:
        lock.publish("https://local")
        assert load_config(Connection())[0].server == "https://local"
        assert find_kubeconfig("mine", {}, directory) == "mine"
        assert find_kubeconfig("", {"KUBECONFIG": "x"}, directory) == ""


def test_without_any_server_the_way_to_start_one_is_told(home: Path) -> None:
    with pytest.raises(click.ClickException, match="ingot up --detach"):
        load_config(Connection())


def test_a_kubeconfig_that_cannot_be_used_is_told_as_it_is(home: Path) -> None:
    named = kubeconfig(home / "named", "https://named")
    with pytest.raises(click.ClickException, match='no context "x"'):
        load_config(Connection(kubeconfig=str(named), context="x"))
