"""A private libvirtd's directory and process. That guests survive it is shown in tests/guest."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from ingot.host.process import Process
from ingot.host.short_path import ShortPath
from ingot.node import libvirtd as module
from ingot.node.libvirt_home import SessionHome, SystemHome
from ingot.node.libvirtd import GivenLibvirt, Libvirtd
from ingot.node.link import HypervisorError

# Behaves as libvirtd does: locks its pid file, listens on its socket, ends at a SIGTERM.
SCRIPT = """#!{python}
import fcntl, os, pathlib, signal, socket, sys
file = open(sys.argv[sys.argv.index("--pid-file") + 1], "w")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
place = pathlib.Path(os.environ["XDG_RUNTIME_DIR"]) / "libvirt" / "libvirt-sock"
place.unlink(missing_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(str(place))
server.listen()
signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ordinary user's machine whose libvirtd is a script in `bin`."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("ingot.node.libvirt_home.LONGEST", 200)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    script(tmp_path, SCRIPT.format(python=sys.executable))
    return tmp_path


def script(home: Path, text: str) -> None:
    path = home / "bin" / "libvirtd"
    path.write_text(text)
    path.chmod(0o755)


async def test_it_is_started_once_found_by_others_and_ended(home: Path) -> None:
    first, second = Libvirtd(home / "d"), Libvirtd(home / "d")
    uris = await asyncio.gather(first.ensure(), second.ensure())
    assert uris == [first.uri, first.uri]
    process = first.process
    assert process is not None
    assert second.process == process
    assert not await second.mend()
    await second.end()
    assert not process.alive
    assert first.process is None
    await first.end()


async def test_a_long_directory_has_a_link_while_libvirtd_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.node.libvirt_home.LONGEST", 40)
    monkeypatch.setattr("ingot.host.short_path.os.geteuid", os.getuid)
    directory = home / "d"
    short = ShortPath(directory, 40)
    libvirtd = Libvirtd(directory)
    monkeypatch.setattr(libvirtd, "_home", SessionHome(directory))
    await libvirtd.ensure()
    assert short.path.readlink() == directory
    assert len(str(libvirtd.uri)) < 107
    await libvirtd.end()
    assert not short.path.is_symlink()
    assert not short.path.exists()


async def test_one_that_was_killed_is_started_again(home: Path) -> None:
    libvirtd = Libvirtd(home / "d")
    await libvirtd.ensure()
    killed = libvirtd.process
    assert killed is not None
    killed.signal(9)
    await killed.ended(5)
    assert await libvirtd.mend()
    assert libvirtd.process not in (None, killed)
    await libvirtd.end()


async def test_one_that_was_started_otherwise_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libvirtd = Libvirtd(home / "d")
    await libvirtd.ensure()
    old = libvirtd.process
    await libvirtd.ensure()
    assert libvirtd.process == old
    monkeypatch.setattr("ingot.node.libvirt_home._QEMU", "max_core = 0\n")
    await libvirtd.ensure()
    assert libvirtd.process not in (None, old)
    await libvirtd.end()


async def test_what_libvirt_keeps_for_one_boot_goes_with_it(home: Path) -> None:
    libvirtd = Libvirtd(home / "d")
    await libvirtd.ensure()
    stale = home / "d" / "r" / "stale"
    stale.touch()
    await libvirtd.ensure()
    assert stale.exists()
    await libvirtd.end()
    (home / "d" / "boot-id").write_text("another boot")
    await libvirtd.ensure()
    assert not stale.exists()
    await libvirtd.end()


async def test_one_that_does_not_start_says_why(home: Path) -> None:
    script(home, "#!/bin/sh\necho no configuration for you >&2\nexit 3\n")
    with pytest.raises(HypervisorError, match=r"no configuration for you; see .*libvirtd.log"):
        await Libvirtd(home / "d").ensure()


async def test_one_that_does_not_answer_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.2)
    # It keeps nothing that could be found again, so the test ends it by its number.
    script(home, f"#!/bin/sh\necho $$ >{home}/pid\nexec sleep 60\n")
    with pytest.raises(HypervisorError, match=r"does not answer after 0.2 s"):
        await Libvirtd(home / "d").ensure()
    await Process.of(int((home / "pid").read_text())).end(5)


def test_a_user_that_is_missing_is_told_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(HypervisorError, match="nobody-such does not exist; make it with: adduser"):
        SystemHome(tmp_path, "nobody-such", kvm=False).prepare()


def test_roots_sockets_are_roots_and_qemu_is_confined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {name: str(tmp_path / "theirs" / name) for name in ("etc", "lib", "run", "log", "cache")}
    monkeypatch.setattr("ingot.node.libvirt_home.PLACES", places)
    monkeypatch.setattr("ingot.node.libvirt_home.QEMU_USER", "nobody")
    monkeypatch.setattr("ingot.node.libvirt_home.LONGEST", 200)
    home = SystemHome(tmp_path / "d", None, kvm=False)
    home.prepare()
    daemon, qemu = (path.read_text() for path in home.configuration)
    assert 'unix_sock_rw_perms = "0600"' in daemon
    assert "listen_tcp = 0" in daemon
    for line in ('user = "nobody"', "seccomp_sandbox = 1", "dynamic_ownership = 1", "vnc_auto_unix_socket = 1"):
        assert line in qemu.splitlines()
    again = SystemHome(tmp_path / "d", None, kvm=False)
    again.prepare()
    assert again.configuration[0].read_text() == daemon


async def test_a_given_libvirt_is_neither_started_nor_ended() -> None:
    given = GivenLibvirt("qemu:///system")
    assert await given.ensure() == "qemu:///system"
    assert not await given.mend()
    await given.end()


def test_the_logs_of_a_given_libvirt_are_looked_for_on_this_machine_only(tmp_path: Path) -> None:
    assert GivenLibvirt("qemu:///system").logs == module.USUAL_LOGS
    assert GivenLibvirt("qemu+unix:///system?socket=/run/other").logs == module.USUAL_LOGS
    assert GivenLibvirt("qemu+ssh://other/system").logs is None
    assert GivenLibvirt("qemu:///session").logs is None
    assert GivenLibvirt("qemu:///system", tmp_path).logs == tmp_path
