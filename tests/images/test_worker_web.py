"""`ingot worker` with web servers, true and bad ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import random
import signal
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from guest.servers.nginx import Nginx
from images.servers.faulty import Asked, FaultyServer, RangeHandler, answer
from images.servers.limited import LimitedProxy
from images.workers import Worker, secret
from ingot.cli.main import cli

SIZE = 12 << 20
USER, PASSWORD = "reader", "for disks only"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk with holes, in several forms."""
    directory = tmp_path_factory.mktemp("files")
    noise = random.Random(5)  # noqa: S311
    with (directory / "disk.raw").open("wb") as file:
        for start in range(0, SIZE, 3 << 20):
            file.seek(start)
            file.write(noise.randbytes(2 << 20))
        file.truncate(SIZE)
    for format in ("qcow2", "vmdk"):
        subprocess.run(
            ["qemu-img", "convert", "-O", format, directory / "disk.raw", directory / f"disk.{format}"], check=True
        )
    # Of several times what is on its way at once.
    (directory / "large.raw").write_bytes(noise.randbytes(32 << 20))
    for name in ("disk.raw", "large.raw"):
        (directory / f"{name}.gz").write_bytes(gzip.compress((directory / name).read_bytes(), 1))
    with tarfile.open(directory / "files.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(directory / "disk.raw", "tree/disk.raw")
        archive.addfile(_link("tree/link", "disk.raw"))
    return directory


def _link(name: str, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry


@pytest.fixture(scope="module")
def nginx(files: Path) -> Iterator[Nginx]:
    if lacking := Nginx.why_not():
        pytest.skip(lacking)
    with Nginx(files, USER, PASSWORD) as server:
        yield server


def _http(tmp_path: Path, url: str, *words: object) -> Worker:
    return Worker(tmp_path, "import", "--source-kind", "http", *words, url=url)


@pytest.mark.parametrize("name", ["disk.raw", "disk.qcow2", "disk.vmdk", "disk.raw.gz"])
def test_from_nginx(tmp_path: Path, nginx: Nginx, files: Path, name: str) -> None:
    """G1: http."""
    worker = _http(tmp_path, f"{nginx.http}/{name}", "--size", 16 << 20)
    told = worker.succeed()
    assert told["virtualSize"] == 16 << 20
    assert worker.disk.read_bytes() == (files / "disk.raw").read_bytes() + bytes(4 << 20)
    assert worker.disk.stat().st_blocks * 512 <= 9 << 20
    assert worker.only_the_disk()


@pytest.mark.parametrize("name", ["disk.raw", "disk.qcow2", "disk.vmdk", "disk.raw.gz"])
def test_the_size_of_a_disk_can_be_asked_for(tmp_path: Path, nginx: Nginx, name: str) -> None:
    told = Worker(tmp_path, "inspect", "--source-kind", "http", url=f"{nginx.http}/{name}").succeed()
    assert told["virtualSize"] == SIZE
    assert told["format"] == name.split(".")[1]


@pytest.mark.parametrize("name", ["disk.raw", "disk.qcow2"])
@pytest.mark.parametrize("option", ["--size", "--limit"])
def test_a_disk_that_is_too_large_is_refused_before_a_byte_is_written(
    tmp_path: Path, nginx: Nginx, name: str, option: str
) -> None:
    worker = _http(tmp_path, f"{nginx.http}/{name}", option, SIZE - 512)
    told = worker.fail()
    assert (told["reason"], told["retry"]) == ("TooLarge", False)
    assert list(worker.data.iterdir()) == []
    assert "--" not in told["message"]


def test_a_compressed_disk_that_is_too_large_leaves_nothing(tmp_path: Path, nginx: Nginx) -> None:
    worker = _http(tmp_path, f"{nginx.http}/disk.raw.gz", "--size", SIZE - 512)
    assert worker.fail()["reason"] == "TooLarge"
    assert list(worker.data.iterdir()) == []


def test_user_and_password_from_a_secret(tmp_path: Path, nginx: Nginx) -> None:
    words = ("--secret", secret(tmp_path / "secret", accessKeyId=USER, secretKey=PASSWORD))
    _http(tmp_path, f"{nginx.http}/private/disk.qcow2", *words).succeed()


def test_nothing_of_a_secret_is_said(tmp_path: Path, nginx: Nginx) -> None:
    words = ("--secret", secret(tmp_path / "secret", accessKeyId=USER, secretKey="WRONG-SECRET"))
    worker = _http(tmp_path, f"{nginx.http}/private/disk.qcow2", *words)
    told = worker.fail()
    assert (told["reason"], told["retry"]) == ("Unauthorized", False)
    assert "secretRef" in told["message"]
    assert "WRONG-SECRET" not in worker.log + str(told)


def test_authorities_from_a_config_map(tmp_path: Path, nginx: Nginx) -> None:
    """All files of it count."""
    url = f"{nginx.https}/disk.qcow2"
    told = _http(tmp_path, url).fail()
    assert (told["reason"], told["retry"]) == ("BadCertificate", False)
    assert "certConfigMap" in told["message"]
    from guest.servers.certificates import Certificates

    told = _http(tmp_path, url, "--certs-name", "ca", "--certs", secret(tmp_path / "none")).fail()
    assert told["message"].startswith('certConfigMap: ConfigMap "ca": it has no file')
    told = _http(tmp_path, url, "--certs-name", "ca", "--certs", secret(tmp_path / "bad", ca_pem="none")).fail()
    assert told["message"].startswith('certConfigMap: ConfigMap "ca": ca.pem in it cannot be used')
    certs = secret(tmp_path / "certs", other_pem=Certificates().authority, ours_pem=nginx.certificates.authority)
    _http(tmp_path, url, "--certs", certs).succeed()


def test_insecure_means_no_proof(tmp_path: Path, nginx: Nginx) -> None:
    _http(tmp_path, f"{nginx.https}/disk.qcow2", "--insecure").succeed()


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_checksums(tmp_path: Path, nginx: Nginx, files: Path, algorithm: str) -> None:
    content = (files / "disk.qcow2").read_bytes()
    url = f"{nginx.http}/disk.qcow2"
    wrong = hashlib.new(algorithm, b"other").hexdigest()
    told = _http(tmp_path, url, "--checksum", f"{algorithm}:{wrong}").fail()
    assert (told["reason"], told["retry"]) == ("WrongDigest", False)
    right = hashlib.new(algorithm, content).hexdigest()
    _http(tmp_path, url, "--checksum", f"{algorithm}:{right}").succeed()


def test_what_is_not_there(tmp_path: Path, nginx: Nginx) -> None:
    told = _http(tmp_path, f"{nginx.http}/none?signature=SECRET").fail()
    assert (told["reason"], told["retry"]) == ("NotFound", False)
    assert "SECRET" not in str(told)


def test_nobody_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    told = _http(tmp_path, f"http://127.0.0.1:{port}/disk").fail()
    assert (told["reason"], told["retry"]) == ("Unreachable", True)


def test_headers_go_to_the_server_and_to_no_other(tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    with FaultyServer(RangeHandler(content)) as storage:

        def sent_on(asked: Asked, client: socket.socket) -> None:
            answer(client, 302, location=f"{storage.url}/disk")

        with FaultyServer(sent_on) as front:
            headers = secret(tmp_path / "headers", first="X-Token: SECRET\n")
            worker = _http(tmp_path, f"{front.url}/disk", "--header-file", headers)
            worker.succeed()
    assert worker.disk.read_bytes() == content
    assert all(asked.headers.get("x-token") == "SECRET" for asked in front.asked)
    assert front.asked
    assert not any("x-token" in asked.headers for asked in storage.asked)


def test_a_server_without_head_and_ranges_that_lies_about_the_type(tmp_path: Path) -> None:
    content = gzip.compress(os.urandom(1 << 20))

    def only_get(asked: Asked, client: socket.socket) -> None:
        if asked.method != "GET":
            answer(client, 405)
        else:
            answer(client, 200, content, content_type="text/html")

    with FaultyServer(only_get) as server:
        worker = _http(tmp_path, f"{server.url}/disk")
        worker.succeed()
    assert worker.disk.read_bytes() == gzip.decompress(content)


def test_a_server_that_promises_more_than_it_has(tmp_path: Path) -> None:
    """It may come back with the rest: that is tried again, and nothing half is shown."""
    content = os.urandom(1 << 20)

    def short(asked: Asked, client: socket.socket) -> None:
        answer(client, 200, content, content_length=2 << 20)
        client.shutdown(socket.SHUT_RDWR)

    with FaultyServer(short) as server:
        told = _http(tmp_path, f"{server.url}/disk").fail()
    assert told["retry"] is True


def test_a_flaky_server(tmp_path: Path) -> None:
    """Every third request fails in its middle."""
    content = os.urandom(9 << 20)

    def breaks(asked: Asked, client: socket.socket) -> bool:
        if asked.number % 3 == 2 and asked.range:
            first, last = asked.range
            part = content[first : first + (last - first) // 2]
            total = f"bytes {first}-{last}/{len(content)}"
            answer(client, 206, part, content_length=last - first + 1, content_range=total, etag='"one"')
            client.shutdown(socket.SHUT_RDWR)
            return True
        return False

    with FaultyServer(RangeHandler(content, before=breaks)) as server:
        worker = _http(tmp_path, f"{server.url}/disk")
        worker.succeed()
    assert worker.disk.read_bytes() == content


@pytest.mark.parametrize("name", ["large.raw", "large.raw.gz"])
def test_killed_again_and_again(tmp_path: Path, nginx: Nginx, files: Path, name: str) -> None:
    """The next one goes on, the disk is never half there, and progress counts what was done before."""
    size = (files / name).stat().st_size
    with LimitedProxy(nginx.http_port, 6e6) as slow:
        worker = _http(tmp_path, f"http://{slow.host}/{name}")
        done = 0
        for _ in range(3):
            # All of them together cannot have the whole.
            slow.hold_after(0.3 * size)
            process = worker.start()
            told = worker.wait_for(done + size // 6, process)
            assert told["total"] == size
            done = told["done"]
            worker.settle()
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert not worker.disk.exists()
        before = slow.sent
        slow.hold_after(math.inf)
        worker.succeed()
        assert slow.sent - before < 3 * size // 4
    assert worker.disk.read_bytes() == (files / "large.raw").read_bytes()
    assert worker.only_the_disk()


def test_progress_has_a_rate(tmp_path: Path, nginx: Nginx) -> None:
    with LimitedProxy(nginx.http_port, 4e6) as slow:
        slow.hold_after(5 << 20)
        worker = _http(tmp_path, f"http://{slow.host}/disk.raw.gz")
        process = worker.start()
        told = worker.wait_for(4 << 20, process)
        assert 0 < told["rate"] < 9e6
        slow.hold_after(math.inf)
        assert process.wait(60) == 0, process.communicate()


def test_an_archive(tmp_path: Path, nginx: Nginx, files: Path) -> None:
    """G1: contentType archive: the volume holds its files, and no disk.img."""
    worker = _http(tmp_path, f"{nginx.http}/files.tar.gz", "--content-type", "archive", "--size", 16 << 20)
    worker.succeed()
    assert [each.name for each in worker.data.iterdir()] == ["tree"]
    assert (worker.data / "tree" / "link").read_bytes() == (files / "disk.raw").read_bytes()
    assert (worker.data / "tree" / "disk.raw").stat().st_blocks * 512 <= 9 << 20


def test_an_archive_whose_worker_was_killed(tmp_path: Path, nginx: Nginx, files: Path) -> None:
    with LimitedProxy(nginx.http_port) as slow:
        slow.hold_after(4 << 20)
        worker = _http(tmp_path, f"http://{slow.host}/files.tar.gz", "--content-type", "archive")
        process = worker.start()
        worker.wait_for(2 << 20, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert all(each.name.startswith(".") for each in worker.data.iterdir())
        slow.hold_after(math.inf)
        worker.succeed()
    assert [each.name for each in worker.data.iterdir()] == ["tree"]


def test_an_archive_that_leads_out(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(_link("x", "../../.."))
    with FaultyServer(RangeHandler(buffer.getvalue())) as server:
        worker = _http(tmp_path, f"{server.url}/x.tar", "--content-type", "archive")
        told = worker.fail()
    assert (told["reason"], told["retry"]) == ("BadTar", False)
    assert list(worker.data.iterdir()) == []


def _in_chunks(client: socket.socket, content: bytes, whole: bool) -> None:
    """As a server sends what it makes on the way."""
    client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for start in range(0, len(content), 100_000):
        part = content[start : start + 100_000]
        client.sendall(b"%x\r\n%b\r\n" % (len(part), part))
    if whole:
        client.sendall(b"0\r\n\r\n")
    else:
        client.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("packed", [False, True])
def test_a_server_that_does_not_know_the_length(tmp_path: Path, packed: bool) -> None:
    content = os.urandom(1 << 20)
    sent = gzip.compress(content) if packed else content
    with FaultyServer(lambda asked, client: _in_chunks(client, sent, True)) as server:
        digest = hashlib.sha256(sent).hexdigest()
        worker = _http(tmp_path, f"{server.url}/disk", "--checksum", f"sha256:{digest}")
        told = worker.succeed()
    assert (told["virtualSize"], told["identity"]) == (1 << 20, "")
    assert worker.disk.read_bytes() == content


def test_a_server_that_does_not_know_the_length_and_goes_away(tmp_path: Path) -> None:
    """Half of a raw disk is not taken for the whole."""
    with FaultyServer(lambda asked, client: _in_chunks(client, os.urandom(1 << 20), False)) as server:
        worker = _http(tmp_path, f"{server.url}/disk")
        told = worker.fail()
    assert told["retry"] is True
    assert list(worker.data.iterdir()) == []


def _until_closed(client: socket.socket, content: bytes) -> None:
    client.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + content)
    client.shutdown(socket.SHUT_RDWR)


def test_a_server_that_tells_no_end_at_all(tmp_path: Path) -> None:
    with FaultyServer(lambda asked, client: _until_closed(client, os.urandom(1 << 20))) as server:
        told = _http(tmp_path, f"{server.url}/disk").fail()
    assert (told["reason"], told["retry"]) == ("NoLength", False)
    assert "give its checksum" in told["message"]


@pytest.mark.parametrize("command", ["import", "inspect"])
@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_checksum_proves_what_a_server_without_any_length_sends(tmp_path: Path, command: str, algorithm: str) -> None:
    content = os.urandom(1 << 20)
    checksum = f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
    with FaultyServer(lambda asked, client: _until_closed(client, content)) as server:
        words = ("--source-kind", "http", "--checksum", checksum)
        worker = Worker(tmp_path, command, *words, url=f"{server.url}/disk")
        assert worker.succeed()["virtualSize"] == 1 << 20
    assert command == "inspect" or worker.disk.read_bytes() == content


def test_half_of_what_a_checksum_proves_is_not_taken(tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    with FaultyServer(lambda asked, client: _until_closed(client, content[: 1 << 19])) as server:
        worker = _http(tmp_path, f"{server.url}/disk", "--checksum", checksum)
        assert worker.fail()["reason"] == "WrongDigest"
    assert list(worker.data.iterdir()) == []


@pytest.mark.parametrize("packed", [False, True])
def test_the_file_of_a_full_disk_is_larger_than_the_disk(tmp_path: Path, packed: bool) -> None:
    """The limit is that of the disk: a qcow2 has tables besides."""
    raw, image = tmp_path / "disk.raw", tmp_path / "disk.qcow2"
    raw.write_bytes(os.urandom(4 << 20))
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", raw, image], check=True)
    content = gzip.compress(image.read_bytes(), 1) if packed else image.read_bytes()
    assert image.stat().st_size > 4 << 20
    with FaultyServer(lambda asked, client: answer(client, 200, content, etag='"one"')) as server:
        worker = _http(tmp_path, f"{server.url}/disk", "--size", 4 << 20, "--limit", 4 << 20)
        worker.succeed()
        assert worker.disk.read_bytes() == raw.read_bytes()
        small = Worker(tmp_path, "inspect", "--source-kind", "http", "--limit", (4 << 20) - 1, url=f"{server.url}/disk")
        assert small.run()["reason"] == "TooLarge"


def test_a_raw_disk_that_is_too_large_is_refused_by_its_length(tmp_path: Path) -> None:
    """Before any of it is read, though there are no ranges."""
    sent = 0

    def slowly(asked: Asked, client: socket.socket) -> None:
        nonlocal sent
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        for _ in range(1024):
            client.sendall(os.urandom(1 << 20))
            sent += 1

    with FaultyServer(slowly) as server:
        worker = _http(tmp_path, f"{server.url}/disk", "--size", 1 << 20)
        assert worker.fail()["reason"] == "TooLarge"
    assert list(worker.data.iterdir()) == []
    assert sent < 64


@pytest.mark.parametrize("tag", ["new", "of each connection", "forgotten"])
@pytest.mark.parametrize("name", ["disk.qcow2", "disk.raw.gz"])
def test_a_server_that_calls_one_file_by_other_tags(tmp_path: Path, files: Path, name: str, tag: str) -> None:
    """As one that makes them for each answer does, or several behind one name."""
    web = RangeHandler((files / name).read_bytes())
    known: dict[socket.socket, str] = {}

    def change(asked: Asked, client: socket.socket) -> bool:
        connection = known.setdefault(client, str(len(known) % 2))
        web.etag = {
            "new": f'"{asked.number}"',
            "of each connection": f'"{connection}"',
            "forgotten": "" if asked.headers.get("if-range") else '"one"',
        }[tag]
        return False

    web.before = change
    with FaultyServer(web) as server:
        Worker(tmp_path, "inspect", "--source-kind", "http", url=f"{server.url}/disk").succeed()
        worker = _http(tmp_path, f"{server.url}/disk", "--size", SIZE)
        worker.succeed()
    assert worker.disk.read_bytes() == (files / "disk.raw").read_bytes()


def _of_new_tags(file: Path) -> RangeHandler:
    """A server that calls the file by another tag in each answer."""
    web = RangeHandler(file.read_bytes())

    def change(asked: Asked, _: socket.socket) -> bool:
        web.etag = f'"{asked.number}"'
        return False

    web.before = change
    return web


def test_a_pull_from_a_server_that_calls_one_file_by_other_tags(tmp_path: Path, files: Path) -> None:
    with FaultyServer(_of_new_tags(files / "disk.qcow2")) as server:
        run = CliRunner().invoke(cli, ["image", "pull", f"{server.url}/disk", str(tmp_path / "disk.raw")])
    assert run.exit_code == 0, run.output
    assert (tmp_path / "disk.raw").read_bytes() == (files / "disk.raw").read_bytes()


def test_an_archive_that_a_server_calls_by_other_tags(tmp_path: Path, files: Path) -> None:
    with FaultyServer(_of_new_tags(files / "files.tar.gz")) as server:
        worker = _http(tmp_path, f"{server.url}/files", "--content-type", "archive")
        worker.succeed()
    assert (worker.data / "tree" / "disk.raw").read_bytes() == (files / "disk.raw").read_bytes()


@pytest.mark.parametrize("status", [400, 416, 501])
def test_a_server_that_minds_being_asked_for_a_range(tmp_path: Path, status: int) -> None:
    content = os.urandom(1 << 20)

    def whole_only(asked: Asked, client: socket.socket) -> None:
        if asked.range:
            answer(client, status)
        else:
            answer(client, 200, content, etag='"one"')

    with FaultyServer(whole_only) as server:
        worker = _http(tmp_path, f"{server.url}/disk")
        worker.succeed()
    assert worker.disk.read_bytes() == content


@pytest.mark.parametrize("status", [400, 410, 451])
def test_a_server_that_refuses_at_all(tmp_path: Path, status: int) -> None:
    with FaultyServer(lambda asked, client: answer(client, status)) as server:
        told = _http(tmp_path, f"{server.url}/disk").fail()
    assert told["retry"] is False
