"""`ingot up`, `down` and `status` as processes, over a server in small that only answers /readyz."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.cli.directory import default_directory

INGOT = """
import sys, types

class Server:
    def __init__(self, directory, host, port, subresources=None):
        self.directory, self.host, self.port = directory, host, port

    @property
    def address(self):
        from ingot.standalone.access.kubeconfig import server_url
        return server_url(self.host, self.port)

    async def start(self):
        if (self.directory / "fail").exists():
            raise RuntimeError("no reason")
        from aiohttp import web
        from ingot.standalone.access import pki
        from ingot.standalone.access.kubeconfig import write_kubeconfig
        keys = pki.ensure(self.directory / "pki", [self.host])
        self.runner = web.ServerRunner(web.Server(self.answer))
        await self.runner.setup()
        await web.TCPSite(self.runner, self.host, self.port, ssl_context=keys.server_context()).start()
        self.port = self.runner.addresses[0][1]
        write_kubeconfig(self.directory / "kubeconfig", keys, self.address)

    async def answer(self, request):
        from aiohttp import web
        return web.Response(status=503 if (self.directory / "sick").exists() else 200)

    async def stop(self):
        await self.runner.cleanup()

module = types.ModuleType("ingot.standalone.server")
module.Server = Server
sys.modules["ingot.standalone.server"] = module
from ingot.cli.main import main
main()
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def ingot(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", INGOT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**ENVIRONMENT, **environment})


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    ingot("down", "--dir", tmp_path / "state")


def status(directory: Path) -> tuple[int, dict[str, object]]:
    done = ingot("status", "--dir", directory, "--output", "json")
    return done.returncode, json.loads(done.stdout)


def test_up_down_and_status_in_the_background(directory: Path) -> None:
    assert status(directory) == (1, {"directory": str(directory), "state": "Stopped"})
    up = ingot("up", "--dir", directory, "--listen", "127.0.0.1:0", "--only-api", "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    code, found = status(directory)
    assert (code, found["state"]) == (0, "Ready")
    assert up.stdout == (
        f"Ingot serves {found['address']} (pid {found['pid']})\n  export KUBECONFIG={directory / 'kubeconfig'}\n"
    )
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert modes == {
        "pki": 0o700,
        **dict.fromkeys(["kubeconfig", "ingot.log", "lock", "process.json"], 0o600),
    }

    again = ingot("up", "--dir", directory, "--listen", "127.0.0.1:0")
    assert (again.returncode, again.stderr) == (
        1,
        f"Error: {directory} is in use by pid {found['pid']} at {found['address']}; "
        f"end it with: ingot down --dir {directory}\n",
    )

    (directory / "sick").touch()
    assert status(directory)[1]["state"] == "NotReady"
    down = ingot("down", "--dir", directory)
    assert (down.returncode, down.stdout) == (0, f"Ended the server at {found['address']} (pid {found['pid']})\n")
    assert status(directory)[1]["state"] == "Stopped"
    down = ingot("down", "--dir", directory)
    assert (down.returncode, down.stdout) == (0, f"No server runs in {directory}\n")


def test_up_in_the_foreground_ends_with_a_signal(directory: Path) -> None:
    command = [sys.executable, "-c", INGOT, "up", "--dir", str(directory), "--listen", "127.0.0.1:0", "--only-api"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as up:
        assert up.stdout is not None
        assert up.stdout.readline().startswith("Ingot serves https://127.0.0.1:")
        assert status(directory)[1]["pid"] == up.pid
        up.send_signal(signal.SIGINT)
        assert up.wait(30) == 0
    assert not (directory / "process.json").exists()


def test_status_in_words(directory: Path) -> None:
    done = ingot("status", "--dir", directory)
    assert done.returncode == 1
    assert done.stdout == (
        f"directory:  {directory}\nstate:      Stopped\nstart it with: ingot up --dir {directory} --detach\n"
    )


@pytest.mark.parametrize("detach", [[], ["--detach"]])
def test_a_taken_port_is_told_in_a_line(directory: Path, detach: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = ingot("up", "--dir", directory, "--listen", f"127.0.0.1:{port}", "--only-api", *detach)
    assert (up.returncode, up.stderr.splitlines()[-1]) == (
        1,
        f"Error: 127.0.0.1:{port} is taken by another program; choose another with --listen, or port 0 for a free one",
    )


def test_a_damaged_key_is_told_in_a_line(directory: Path) -> None:
    (directory / "pki").mkdir(parents=True)
    (directory / "pki" / "ca.pem").write_text("rubbish")
    up = ingot("up", "--dir", directory, "--listen", "127.0.0.1:0", "--only-api", "--detach")
    assert up.returncode == 1
    assert up.stderr.startswith(f"Error: {directory}/pki/ca.pem cannot be used: ")
    assert up.stderr.count("\n") == 1


def test_an_unforeseen_failure_points_to_the_log(directory: Path) -> None:
    directory.mkdir()
    (directory / "fail").touch()
    up = ingot("up", "--dir", directory, "--listen", "127.0.0.1:0", "--only-api", "--detach")
    log = directory / "ingot.log"
    assert (up.returncode, up.stderr) == (1, f"Error: the server failed (RuntimeError: no reason); see {log}\n")
    assert "Traceback" in log.read_text()
    assert status(directory)[1]["state"] == "Stopped"


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    up = ingot("up", "--dir", tmp_path / "file" / "state")
    assert (up.returncode, up.stderr) == (
        1,
        f"Error: {tmp_path}/file/state cannot be used: Not a directory; choose another with --dir\n",
    )


def test_the_directory_by_default(tmp_path: Path) -> None:
    done = ingot("status", "-o", "json", XDG_STATE_HOME=str(tmp_path))
    assert json.loads(done.stdout)["directory"] == str(tmp_path / "ingot")


@pytest.mark.parametrize(("user", "wanted"), [(0, "/var/lib/ingot"), (1000, "{home}/.local/state/ingot")])
def test_the_directory_by_default_of_root_and_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, wanted: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert str(default_directory()) == wanted.format(home=tmp_path)
