"""`ingot serve` with TLS: nothing without it, nobody without a certificate where one is wanted."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from guest.servers.certificates import Certificates
from images.servers.serving import Serving
from ingot.cli.main import cli
from ingot.images.content import read
from ingot.images.fault import ImageFault
from ingot.images.nbd.address import Address, Tls
from ingot.images.nbd.client import NbdContent

_SIZE = 3 << 20


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return Certificates()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Path:
    """A disk, and the files of servers and clients."""
    place = tmp_path_factory.mktemp("tls")
    (place / "disk").write_bytes(os.urandom(_SIZE))
    certificates.write_server(place / "server")
    certificates.write_client(place / "client")
    return place


@pytest.fixture(scope="module")
def tls(place: Path) -> Tls:
    client = place / "client"
    return Tls(client / "ca-cert.pem", client / "client-cert.pem", client / "client-key.pem")


@pytest.fixture(scope="module")
def serving(place: Path, tls: Tls) -> Iterator[Serving]:
    files = ("--tls", str(place / "server"), "--client-ca", str(place / "server" / "ca-cert.pem"))
    with Serving(place, *files, "--export", f"disk={place / 'disk'}", tcp=True, tls=tls) as server:
        yield server


def test_ours_reads_with_a_certificate(serving: Serving, place: Path) -> None:
    assert serving.uri().startswith("nbds://")
    with serving.content("disk") as content:
        assert read(content, 0, _SIZE) == (place / "disk").read_bytes()
        assert [extent.data for extent in content.extents(0, _SIZE)] == [True]


def _pull(serving: Serving, *words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["image", "pull", serving.uri("disk"), *map(str, words)])


def test_pull_reads_with_a_certificate(serving: Serving, place: Path, tmp_path: Path) -> None:
    client = place / "client"
    trusting = (tmp_path / "out", "--ca", client / "ca-cert.pem")
    assert _pull(serving, *trusting).exit_code == 1
    own = ("--certificate", client / "client-cert.pem", "--key", client / "client-key.pem")
    pulled = _pull(serving, *trusting, *own)
    assert pulled.exit_code == 0, pulled.output
    assert (tmp_path / "out").read_bytes() == (place / "disk").read_bytes()


def test_pull_tells_which_certificate_cannot_be_used(serving: Serving, place: Path, tmp_path: Path) -> None:
    certificate, key = place / "client" / "client-cert.pem", place / "server" / "server-key.pem"
    words = ("--ca", place / "client" / "ca-cert.pem", "--certificate", certificate, "--key", key)
    result = _pull(serving, tmp_path / "out", *words)
    assert result.exit_code == 1
    assert f"Error: {certificate}: it cannot be used with the key {key} (" in result.output


def test_pull_trusts_the_server_of_an_authority(place: Path, tls: Tls, tmp_path: Path) -> None:
    options = ("--tls", str(place / "server"), "--export", f"disk={place / 'disk'}")
    with Serving(tmp_path, *options, tcp=True, tls=tls) as server:
        untrusted = _pull(server, tmp_path / "out")
        assert "unable to get local issuer certificate" in untrusted.output
        assert _pull(server, tmp_path / "out", "--ca", place / "client" / "ca-cert.pem").exit_code == 0
    assert (tmp_path / "out").read_bytes() == (place / "disk").read_bytes()


def test_qemu_reads_with_a_certificate(serving: Serving, place: Path) -> None:
    server = f"driver=nbd,host=127.0.0.1,port={serving.address.port},export=disk,tls-creds=t"
    objects = f"tls-creds-x509,id=t,dir={place / 'client'},endpoint=client"
    command = ["qemu-img", "convert", "--object", objects, "--image-opts", server, "-O", "raw", str(place / "copy")]
    subprocess.run(command, check=True, timeout=60)
    assert (place / "copy").read_bytes() == (place / "disk").read_bytes()


def test_libnbd_reads_with_a_certificate(serving: Serving, place: Path) -> None:
    uri = f"{serving.uri('disk')}?tls-certificates={place / 'client'}"
    subprocess.run(["nbdcopy", uri, place / "copied"], check=True, timeout=60)
    assert (place / "copied").read_bytes() == (place / "disk").read_bytes()


def test_plain_clients_are_told_nothing(serving: Serving) -> None:
    plain = serving.uri("disk").replace("nbds", "nbd")
    with pytest.raises(ImageFault, match="the server wants TLS"):
        NbdContent(Address.parse(plain))
    said = subprocess.run(["nbdinfo", "--list", plain], capture_output=True, text=True)
    assert said.returncode != 0
    assert "disk" not in said.stdout


def test_a_client_without_a_certificate_is_refused(serving: Serving, tls: Tls) -> None:
    with pytest.raises(ImageFault):
        NbdContent(Address.parse(serving.uri("disk"), Tls(tls.authority)))


def test_a_client_with_a_strangers_certificate_is_refused(serving: Serving, tls: Tls, tmp_path: Path) -> None:
    Certificates().write_client(tmp_path)
    stranger = Tls(tls.authority, tmp_path / "client-cert.pem", tmp_path / "client-key.pem")
    with pytest.raises(ImageFault):
        NbdContent(Address.parse(serving.uri("disk"), stranger))


def test_our_client_refuses_a_server_that_it_does_not_know(serving: Serving, tmp_path: Path) -> None:
    Certificates().write_client(tmp_path)
    with pytest.raises(ImageFault, match="certificate"):
        NbdContent(Address.parse(serving.uri("disk"), Tls(tmp_path / "ca-cert.pem")))


def test_garbage_instead_of_tls_is_hung_up_on(serving: Serving) -> None:
    with socket.create_connection(("127.0.0.1", serving.address.port), 10) as client:
        client.recv(18)
        client.sendall(b"\0\0\0\3IHAVEOPT\0\0\0\5\0\0\0\0")
        assert client.recv(20)[-8:-4] == b"\0\0\0\1"
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while client.recv(100):
            pass
    assert "Traceback" not in serving.log


def test_renewed_certificates_are_taken_up(place: Path, tmp_path: Path) -> None:
    first, second = Certificates(), Certificates()
    first.write_server(tmp_path / "server")
    first.write_client(tmp_path / "first")
    second.write_client(tmp_path / "second")
    options = ("--tls", str(tmp_path / "server"), "--export", f"disk={place / 'disk'}")
    with Serving(tmp_path, *options, tcp=True, tls=Tls(tmp_path / "first" / "ca-cert.pem")) as server:
        server.content("disk").close()
        (tmp_path / "server" / "server-key.pem").write_text("half written")
        server.content("disk").close()
        second.write_server(tmp_path / "server")
        with pytest.raises(ImageFault, match="certificate"):
            server.content("disk")
        NbdContent(Address.parse(server.uri("disk"), Tls(tmp_path / "second" / "ca-cert.pem"))).close()
