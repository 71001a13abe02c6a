"""`ingot serve` as a service: processes that die, ends, sockets that are handed over, exports that come and go."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest

from images.servers.serving import INGOT, Serving, wait_for
from ingot.images.content import read
from ingot.images.fault import ImageFault
from ingot.images.nbd.address import Address
from ingot.images.nbd.client import NbdContent

_SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(_SIZE))
    return path


def _ingot(*words: str | Path) -> str:
    return subprocess.run([INGOT, *words], check=True, capture_output=True, text=True, timeout=60).stdout


class TestWorkers:
    def test_clients_are_spread_over_processes(self, disk: Path, tmp_path: Path) -> None:
        control = tmp_path / "control"
        options = ("--processes", "2", "--export", f"disk={disk}", "--control", str(control))
        with Serving(tmp_path, *options) as server:
            assert len(server.workers) == 2
            contents = [server.content("disk", 1) for _ in range(4)]
            counts = [len(list(Path(f"/proc/{worker}/task").iterdir())) for worker in server.workers]
            assert counts[0] == counts[1] > 2
            for content in contents:
                assert read(content, 0, _SIZE) == disk.read_bytes()
                content.close()

    def test_a_killed_worker_is_replaced_and_clients_go_on(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--export", f"disk={disk}") as server, server.content("disk") as content:
            assert read(content, 0, _SIZE) == disk.read_bytes()
            killed = server.kill_worker()
            assert read(content, 0, _SIZE) == disk.read_bytes()
            assert killed not in server.workers
            assert "must connect again" in server.log

    def test_one_of_two_killed_again_and_again_is_hardly_noticed(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--processes", "2", "--export", f"disk={disk}") as server:
            for _ in range(4):
                with server.content("disk") as content:
                    server.kill_worker()
                    assert read(content, 0, _SIZE) == disk.read_bytes()
            wait_for(lambda: len(server.workers) == 2)

    def test_workers_end_with_a_killed_parent(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--processes", "2", "--export", f"disk={disk}") as server:
            workers = server.workers
            server.process.kill()
            server.process.wait()
            wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))

    def test_a_socket_that_a_killed_server_left_is_taken_over(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--export", f"disk={disk}") as server:
            server.process.kill()
            server.process.wait()
        with Serving(tmp_path, "--export", f"disk={disk}") as server, server.content("disk") as content:
            assert content.size == _SIZE

    def test_the_socket_is_for_whom_it_is_said(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--export", f"disk={disk}"):
            assert (tmp_path / "nbd").stat().st_mode & 0o777 == 0o600
        with Serving(tmp_path, "--socket-mode", "660", "--export", f"disk={disk}"):
            assert (tmp_path / "nbd").stat().st_mode & 0o777 == 0o660

    def test_a_socket_that_is_in_use_is_not_taken(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--export", f"disk={disk}"):
            done = subprocess.run(
                [INGOT, "serve", "--socket", tmp_path / "nbd", "--export", f"x={disk}"], capture_output=True, text=True
            )
        assert done.returncode == 1
        assert "another server listens there" in done.stderr


class TestEnd:
    def test_reads_under_way_are_finished_and_the_socket_is_gone(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--export", f"disk={disk}") as server:
            faults: list[ImageFault] = []
            began = threading.Event()

            def reading() -> None:
                try:
                    with NbdContent(Address.parse(server.uri("disk")), 1, pauses=(0.1,)) as content:
                        while True:
                            assert read(content, 0, _SIZE) == disk.read_bytes()
                            began.set()
                except ImageFault as fault:
                    faults.append(fault)

            thread = threading.Thread(target=reading)
            thread.start()
            assert began.wait(10)
            assert server.end() == 0
            thread.join(30)
            # What was wrong is that nobody listens any more, never what was read.
            assert faults[0].reason == "Disconnected"
            assert not (tmp_path / "nbd").exists()

    def test_idle_clients_do_not_hold_it_up(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--grace", "60", "--export", f"disk={disk}") as server, server.content("disk"):
            assert server.end() == 0

    def test_nothing_stays_among_the_temporary_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What QEMU decodes has a directory for its socket."""
        image, temporary = tmp_path / "disk.vmdk", tmp_path / "temporary"
        subprocess.run(["qemu-img", "create", "-q", "-f", "vmdk", image, "1M"], check=True)
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        with Serving(tmp_path, "--export", f"disk={image}") as serving:
            with serving.content("disk") as content:
                assert content.size == 1 << 20
            assert list(temporary.iterdir())
        assert not list(temporary.iterdir())


class TestControl:
    def test_exports_come_and_go(self, disk: Path, tmp_path: Path) -> None:
        control = tmp_path / "control"
        with Serving(tmp_path, "--processes", "2", "--control", str(control)) as server:
            assert control.stat().st_mode & 0o777 == 0o600
            added = json.loads(_ingot("serve", "add", f"late={disk}", "--output", "json", "--control", control))
            assert added == {"name": "late", "writable": False, "plain": False}
            contents = [server.content("late", 1) for _ in range(2)]
            for content in contents:
                assert read(content, 0, 4096) == disk.read_bytes()[:4096]
            told = json.loads(_ingot("serve", "ls", "--output", "json", "--control", control))
            (export,) = told["exports"]
            assert (export["name"], export["size"], export["connections"], export["read"]) == ("late", _SIZE, 2, 8192)
            assert str(disk) in _ingot("serve", "ls", "--control", control)
            removed = _ingot("serve", "rm", "late", "--output", "json", "--control", control)
            assert json.loads(removed) == {"name": "late"}
            for content in contents:
                with pytest.raises(ImageFault):
                    read(content, 0, 4096)
            assert json.loads(_ingot("serve", "ls", "--output", "json", "--control", control))["exports"] == []
        assert not control.exists()

    def test_a_restarted_worker_knows_what_was_added(self, disk: Path, tmp_path: Path) -> None:
        control = tmp_path / "control"
        with Serving(tmp_path, "--control", str(control)) as server:
            _ingot("serve", "add", f"late={disk}", "--control", control)
            server.kill_worker()
            with server.content("late") as content:
                assert read(content, 0, _SIZE) == disk.read_bytes()

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (("add", "late=/nothing/there"), "/nothing/there: No such file"),
            (("add", "disk=/dev/null"), "there is an export of this name already"),
            (("add", "null=/dev/null"), "it is no file and no block device"),
            (("add", "/x=/dev/null"), "is no name of an export"),
            (("add", "dir=/tmp", "--writable"), "a directory is served read-only"),
            (("add", "web=http://localhost:1/x", "--writable"), "can be writable"),
            (("rm", "nothing"), "there is no export of this name"),
        ],
    )
    def test_refusals_say_why(self, disk: Path, tmp_path: Path, words: tuple[str, ...], why: str) -> None:
        control = tmp_path / "control"
        with Serving(tmp_path, "--export", f"disk={disk}", "--control", str(control)) as server:
            command = [INGOT, "serve", *words, "--control", str(control)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode == 1
            assert why in done.stderr
            with server.content("disk") as content:
                assert content.size == _SIZE

    def test_without_a_server_the_command_says_so(self, tmp_path: Path) -> None:
        command = [INGOT, "serve", "ls", "--control", str(tmp_path / "none")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert "no server answers there" in done.stderr


class TestInstances:
    def test_several_share_a_port(self, disk: Path, tmp_path: Path) -> None:
        first, second = tmp_path / "first", tmp_path / "second"
        first.mkdir()
        second.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = ("--share-port", "--export", f"disk={disk}", "--listen", f"127.0.0.1:{port}")
        with Serving(first, *options) as one, Serving(second, *options) as two:
            served: set[int] = set()
            for _ in range(64):
                with socket.create_connection(("127.0.0.1", port)) as client:
                    assert client.recv(8) == b"NBDMAGIC"
                    served |= {server.process.pid for server in (one, two) if _has_client(server)}
                if len(served) == 2:
                    break
            assert len(served) == 2

    def test_without_sharing_a_taken_port_is_refused(self, disk: Path, tmp_path: Path) -> None:
        with Serving(tmp_path, "--export", f"disk={disk}", tcp=True) as server:
            where = f"127.0.0.1:{server.address.port}"
            command = [INGOT, "serve", "--listen", where, "--export", f"disk={disk}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "Address already in use; choose another with --listen" in done.stderr

    def test_a_socket_is_adopted(self, disk: Path, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            server = Serving(tmp_path, "--export", f"disk={disk}", adopt=listener.fileno())
            with server, server.content("disk") as content:
                assert server.address.port == port
                assert read(content, 0, _SIZE) == disk.read_bytes()


def _has_client(server: Serving) -> bool:
    # A thread for each client, besides the one that waits for them.
    return any(len(list(Path(f"/proc/{worker}/task").iterdir())) > 1 for worker in server.workers)


def test_metrics_are_summed_over_processes(disk: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ("--processes", "2", "--metrics", f"127.0.0.1:{port}", "--export", f"disk={disk}")
    with Serving(tmp_path, *options) as server:
        for _ in range(4):
            with server.content("disk") as content:
                read(content, 0, 4096)

        def figures() -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return str(answer.read().decode())

        found = figures()
        assert 'ingot_serve_requests_total{export="disk",kind="read"} 4.0' in found
        assert 'ingot_serve_read_bytes_total{export="disk"} 16384.0' in found
        assert 'ingot_serve_clients_total{export="disk"} 4.0' in found
        assert 'ingot_serve_seconds_count{export="disk"}' in found
        assert "ingot_serve_workers 2.0" in found
        # What a worker did before it was killed is not forgotten.
        os.kill(server.workers[0], signal.SIGKILL)
        wait_for(lambda: "ingot_serve_workers 2.0" in figures() and len(server.workers) == 2)
        assert 'ingot_serve_read_bytes_total{export="disk"} 16384.0' in figures()


def test_figures_of_an_export_go_with_it(disk: Path, tmp_path: Path) -> None:
    """Those of the others stay, and go nowhere but up, also when a worker dies."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    control = tmp_path / "control"
    options = ("--processes", "2", "--metrics", f"127.0.0.1:{port}", "--control", str(control))
    with Serving(tmp_path, *options, "--export", f"disk={disk}", "--directory", str(tmp_path)) as server:

        def figures() -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return str(answer.read().decode())

        def use(name: str) -> None:
            with server.content(name) as content:
                read(content, 0, 4096)

        def kept(name: str, count: int) -> bool:
            return f'ingot_serve_read_bytes_total{{export="{name}"}} {4096.0 * count}' in figures()

        for _ in range(4):
            use("disk")
        use("disk.raw")
        for name in ("first", "second"):
            _ingot("serve", "add", f"{name}={disk}", "--control", control)
            for _ in range(2):
                use(name)
        assert kept("first", 2)
        assert kept("second", 2)
        # One that a worker has told of before it died, and one with a client who is there.
        server.kill_worker()
        wait_for(lambda: "ingot_serve_workers 2.0" in figures() and len(server.workers) == 2)
        with server.content("second") as content:
            read(content, 0, 4096)
            for name in ("first", "second"):
                _ingot("serve", "rm", name, "--control", control)
        page = figures()
        assert 'export="first"' not in page
        assert 'export="second"' not in page
        assert kept("disk", 4)
        assert kept("disk.raw", 1)
        # Another one of that name begins anew.
        _ingot("serve", "add", f"first={disk}", "--control", control)
        use("first")
        wait_for(lambda: kept("first", 1))
        server.kill_worker()
        wait_for(lambda: "ingot_serve_workers 2.0" in figures() and len(server.workers) == 2)
        assert kept("first", 1)
        assert kept("disk", 4)
        assert 'export="second"' not in figures()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "there is nothing to serve"),
        (("--export", "x"), "is not NAME=SOURCE"),
        (("--export", "x=/nothing"), "/nothing: No such file"),
        (("--export", "x=/dev/null", "--writable", "y"), "there is no --export y"),
        (("--export", "x=/dev/null", "--client-ca", "/x"), "--client-ca needs --tls"),
        (("--export", "x=/dev/null", "--rate", "1M"), "--rate needs --hydrate"),
        (("--export", "x=/dev/null", "--tls", "/nothing"), "server-cert.pem and server-key.pem must be there"),
        (("--export", "x=/dev/null", "--socket-mode", "999"), "is not an octal mode"),
        (("--export", "x=/dev/null", "--control", "/nothing/control"), "/nothing/control: it cannot be listened on"),
        (("--listen", "nowhere", "--export", "x=/dev/null"), "is not [ADDRESS]:PORT"),
    ],
)
def test_command_lines_that_cannot_be_are_refused(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    where = () if "--listen" in words else ("--socket", str(tmp_path / "nbd"))
    done = subprocess.run([INGOT, "serve", *where, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2)
    assert why in done.stderr
    assert not (tmp_path / "nbd").exists()
