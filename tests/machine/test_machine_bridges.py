"""Bridges, with the real nbdkit."""

import json
import os
import pwd
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import trustme

from ingot.api.kubevirt.uri import HostPort
from ingot.disks import trial
from ingot.disks.bridge import Bridges, needed
from ingot.disks.endpoint import Block, Credentials, File, Network, Tls
from ingot.disks.fault import DiskFault
from ingot.disks.imageopts import image
from ingot.host.command import run
from ingot.host.process import Process
from ingot.host.sockets import LONGEST
from machine.disk_web import Web, serving

CONTENT = os.urandom(256 * 1024)


@pytest.fixture
def web():
    with serving(Web({"/a/disk.img": CONTENT})) as server:
        yield server


@pytest.fixture
async def bridges(tmp_path):
    made = Bridges(tmp_path, None)
    yield made
    await made.end()


@pytest.fixture
def open_path():
    """A directory that every user can pass through, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o711)
        yield path


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
def export(tmp_path, authority):
    """An NBD server with TLS that wants to see a certificate of the authority's."""
    certificates = tmp_path / "server"
    certificates.mkdir()
    own = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(certificates / "ca-cert.pem"))
    own.private_key_pem.write_to_path(str(certificates / "server-key.pem"))
    own.cert_chain_pems[0].write_to_path(str(certificates / "server-cert.pem"))
    content = tmp_path / "export.img"
    content.write_bytes(CONTENT)
    port, ready = _free_port(), tmp_path / "ready"
    tls = ["--tls=require", f"--tls-certificates={certificates}", "--tls-verify-peer"]
    where = ["-i", "127.0.0.1", "-p", str(port), "-P", ready]
    server = subprocess.Popen(["nbdkit", "-f", *tls, *where, "file", content], stderr=subprocess.DEVNULL)
    while not ready.exists():
        assert server.poll() is None
        time.sleep(0.01)
    yield Network("nbd", "x", (HostPort("127.0.0.1", port),), tls=Tls(_pem(authority.cert_pem), *_pair(authority)))
    server.terminate()
    server.wait()


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _pem(blob):
    return blob.bytes().decode()


def _pair(authority):
    own = authority.issue_cert("client@example.org")
    return _pem(own.cert_chain_pems[0]), _pem(own.private_key_pem)


def endpoint_of(web, path="/a/disk.img", protocol="http", **more):
    return Network(protocol, path, (HostPort("127.0.0.1", web.port),), identities=frozenset({"web:x"}), **more)


async def content_of(endpoint, tmp_path):
    target = tmp_path / "content"
    with image(endpoint, tmp_path) as opened:
        await run(["qemu-img", "convert", "-O", "raw", *opened.arguments, opened.name, str(target)])
    return target.read_bytes()


def owner_of(pid):
    return Path(f"/proc/{pid}").stat().st_uid


def arguments_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode()


def record_of(tmp_path, volume="data"):
    return json.loads((tmp_path / "bridges" / f"{volume}.json").read_bytes())


def test_what_needs_a_bridge(tmp_path):
    assert needed(Network("http", "/a"))
    assert needed(Network("https", "/a", tls=Tls()))
    assert needed(Network("nbd", "a", tls=Tls()))
    assert not any(
        needed(each) for each in (Network("nbd", "a"), Network("iscsi", "a"), File(tmp_path), Block(tmp_path))
    )


async def test_a_web_server_behind_a_socket(web, bridges, tmp_path):
    shown = await bridges.ensure("data", endpoint_of(web))
    assert (shown.protocol, shown.name, shown.hosts, shown.identities) == ("nbd", "", (), {"web:x"})
    assert shown.socket == tmp_path / "bridges/data/socket"
    assert shown.socket.stat().st_mode & 0o022 == 0
    assert await content_of(shown, tmp_path) == CONTENT


async def test_small_reads_are_few_requests(web, bridges):
    shown = await bridges.ensure("data", endpoint_of(web))
    web.seen.clear()
    await run(
        ["qemu-img", "bench", "-c", "60", "-d", "1", "-s", "4096", "-f", "raw", f"nbd+unix:///?socket={shown.socket}"]
    )
    assert 0 < len(web.seen) < 6


async def test_a_later_process_finds_the_bridge(web, bridges, tmp_path):
    first = await bridges.ensure("data", endpoint_of(web))
    before = record_of(tmp_path)
    assert await Bridges(tmp_path, None).ensure("data", endpoint_of(web)) == first
    assert record_of(tmp_path) == before
    assert await bridges.mend() == []


async def test_a_bridge_that_died_is_mended_on_its_socket(web, bridges, tmp_path):
    shown = await bridges.ensure("data", endpoint_of(web))
    process = Process.from_record(record_of(tmp_path))
    process.signal(signal.SIGKILL)
    assert await process.ended(5)
    assert await bridges.mend() == ["data"]
    assert await content_of(shown, tmp_path) == CONTENT
    assert await bridges.mend() == []


async def test_nothing_is_left_in_the_end(web, bridges, tmp_path):
    for volume in ("one", "two"):
        await bridges.ensure(volume, endpoint_of(web, credentials=Credentials("joe", b"pass")))
    running = [Process.from_record(record_of(tmp_path, volume)) for volume in ("one", "two")]
    await bridges.drop("one")
    assert [process.alive for process in running] == [False, True]
    await bridges.end()
    assert not any(process.alive for process in running)
    assert list(tmp_path.iterdir()) == []
    await bridges.end()


async def test_a_bridge_without_a_record_is_found(web, bridges, tmp_path):
    await bridges.ensure("data", endpoint_of(web))
    process = Process.from_record(record_of(tmp_path))
    (tmp_path / "bridges/data.json").unlink()
    await bridges.end()
    assert not process.alive


async def test_another_address_is_another_bridge(web, bridges, tmp_path):
    web.files["/b"] = bytes(4096)
    await bridges.ensure("data", endpoint_of(web))
    first = Process.from_record(record_of(tmp_path))
    shown = await bridges.ensure("data", endpoint_of(web, "/b"))
    assert not first.alive
    assert await content_of(shown, tmp_path) == bytes(4096)


@pytest.mark.parametrize(
    ("path", "said", "reason"),
    [
        ("/none?token=abc", "404", "NotFound"),
        ("/a/disk.img", "the server does not answer to range requests", "NoRanges"),
    ],
)
async def test_a_file_that_cannot_be_had(web, bridges, tmp_path, path, said, reason):
    web.ranges = False
    with pytest.raises(DiskFault, match=said) as fault:
        await bridges.ensure("data", endpoint_of(web, path))
    assert fault.value.reason == reason
    with pytest.raises(DiskFault) as again:
        await bridges.ensure("data", endpoint_of(web, path))
    assert again.value.message == fault.value.message
    assert f"http://127.0.0.1:{web.port}" in fault.value.message
    assert "abc" not in fault.value.message
    assert list((tmp_path / "bridges").iterdir()) == []


async def test_a_server_that_is_not_there(bridges):
    with pytest.raises(DiskFault, match="Failed to connect") as fault:
        await bridges.ensure("data", Network("http", "/a", (HostPort("127.0.0.1", 1),)))
    assert fault.value.reason == "Unreachable"


async def test_a_server_that_never_answers_is_not_waited_for_long(bridges, monkeypatch, tmp_path):
    monkeypatch.setattr(trial, "SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        where = (HostPort("127.0.0.1", silent.getsockname()[1]),)
        for endpoint in (Network("http", "/a", where), Network("nbd", "x", where, tls=Tls())):
            with pytest.raises(DiskFault, match="did not answer") as fault:
                await bridges.ensure("data", endpoint)
            assert fault.value.reason == "Unreachable"
    assert list((tmp_path / "bridges").iterdir()) == []


def test_a_trial_ends_soon_after_its_process(tmp_path):
    """Killed while it waits for a server, a process leaves no nbdkit behind."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        code = (
            "import asyncio; from pathlib import Path\n"
            "from ingot.api.kubevirt.uri import HostPort; from ingot.disks.bridge import Bridges\n"
            "from ingot.disks.endpoint import Network; from ingot.disks import trial; trial.SECONDS = 0.5\n"
            f"endpoint = Network('http', '/a', (HostPort('127.0.0.1', {silent.getsockname()[1]}),))\n"
            f"asyncio.run(Bridges(Path({str(tmp_path)!r}), None).ensure('root', endpoint))"
        )
        starter = subprocess.Popen([sys.executable, "-c", code])
        silent.settimeout(10)
        connection, _ = silent.accept()
        with connection:
            starter.kill()
            starter.wait()
            connection.settimeout(10)
            while connection.recv(4096):
                pass


async def test_a_redirect_tells_nothing_of_where_it_came_from(web, bridges):
    with serving(Web({"/there": CONTENT})) as other:
        web.redirects["/here"] = f"http://localhost:{other.port}/there"
        await bridges.ensure("data", endpoint_of(web, "/here?sig=TOKEN"))
        assert other.referers == {None}


async def test_a_password(web, bridges, tmp_path):
    web.password = "s3cr3t"  # noqa: S105
    with pytest.raises(DiskFault, match="401") as fault:
        await bridges.ensure("data", endpoint_of(web, credentials=Credentials("joe", b"wrong")))
    assert fault.value.reason == "AccessDenied"
    shown = await bridges.ensure("data", endpoint_of(web, credentials=Credentials("joe", b"s3cr3t")))
    assert await content_of(shown, tmp_path) == CONTENT
    record = record_of(tmp_path)
    for text in (arguments_of(record["pid"]), json.dumps(record)):
        assert "s3cr3t" not in text
    assert (tmp_path / "bridges/data/password").stat().st_mode & 0o777 == 0o600


async def test_a_password_of_two_lines(web, bridges):
    with pytest.raises(DiskFault, match="one line"):
        await bridges.ensure("data", endpoint_of(web, credentials=Credentials("joe", b"a\nb")))


async def test_another_host_gets_no_credentials(web, bridges, tmp_path):
    with serving(Web({"/there": CONTENT})) as other:
        web.redirects["/here"] = f"http://localhost:{other.port}/there"
        shown = await bridges.ensure("data", endpoint_of(web, "/here", credentials=Credentials("joe", b"pass")))
        assert await content_of(shown, tmp_path) == CONTENT
        assert set(other.seen) == {None}


async def test_encryption_is_checked(bridges, authority, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with serving(Web({"/a/disk.img": CONTENT}), context) as web:
        with pytest.raises(DiskFault, match="certConfigMap") as fault:
            await bridges.ensure("data", endpoint_of(web, protocol="https", tls=Tls()))
        assert fault.value.reason == "BadCertificate"
        trusted = Tls(_pem(authority.cert_pem))
        shown = await bridges.ensure("data", endpoint_of(web, protocol="https", tls=trusted))
        assert await content_of(shown, tmp_path) == CONTENT


async def test_a_certificate_of_ours_is_not_for_the_web(web, bridges, authority):
    with pytest.raises(DiskFault, match=r"tls\.crt") as fault:
        await bridges.ensure("data", endpoint_of(web, protocol="https", tls=Tls("", *_pair(authority))))
    assert fault.value.reason == "ClientCertificateUnsupported"


async def test_an_encrypted_block_server(export, bridges, tmp_path):
    shown = await bridges.ensure("data", export)
    assert await content_of(shown, tmp_path) == CONTENT
    assert (tmp_path / "bridges/data/client-key.pem").stat().st_mode & 0o777 == 0o600


async def test_an_encrypted_block_server_that_nobody_vouches_for(export, bridges):
    stranger = Tls(_pem(trustme.CA().cert_pem), export.tls.certificate, export.tls.key)
    with pytest.raises(DiskFault, match="certificate"):
        await bridges.ensure("data", Network("nbd", "x", export.hosts, tls=stranger))


async def test_a_long_directory(web, tmp_path):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    bridges = Bridges(deep, None)
    shown = await bridges.ensure("data", endpoint_of(web))
    try:
        assert len(str(shown.socket)) <= LONGEST
        assert await content_of(shown, tmp_path) == CONTENT
    finally:
        await bridges.end()
    assert not shown.socket.parent.is_symlink()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a bridge as somebody else")
async def test_a_bridge_of_another_user(web, open_path, tmp_path):
    bridges = Bridges(open_path, "nobody")
    nobody = pwd.getpwnam("nobody").pw_uid
    try:
        shown = await bridges.ensure("data", endpoint_of(web, credentials=Credentials("joe", b"pass")))
        assert owner_of(record_of(open_path)["pid"]) == nobody
        assert shown.socket.stat().st_uid == nobody
        assert (open_path / "bridges/data/password").stat().st_uid == nobody
        assert await content_of(shown, tmp_path) == CONTENT
    finally:
        await bridges.end()
