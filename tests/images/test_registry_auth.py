"""Who we are to a registry: with passwords, tokens and certificates, by docker's and podman's files."""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from guest.servers.certificates import Certificates
from images.servers.faulty import Asked, FaultyServer, answer
from images.servers.gate import Gate
from images.servers.registry import PASSWORD, USER, DockerRegistry
from images.servers.tokens import REFRESH, TokenServer
from images.test_registry_client import push
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def with_file(settings: Settings, path: Path) -> Registry:
    return Registry(replace(settings, auth_files=(path,)))


def test_a_password_from_a_file(password_registry: DockerRegistry, settings: Settings, tmp_path: Path) -> None:
    reference = Reference.parse(f"{password_registry.host}/a/b")
    file = written(tmp_path / "config.json", {"auths": {password_registry.host: {"auth": BASIC}}})
    with with_file(settings, file) as client:
        digest, _ = push(client, reference, b"disk")
        assert client.resolve(reference).digest == digest


def test_a_wrong_password_and_none(password_registry: DockerRegistry, settings: Settings, tmp_path: Path) -> None:
    reference = Reference.parse(f"{password_registry.host}/a/b")
    wrong = base64.b64encode(f"{USER}:wrong-one".encode()).decode()
    file = written(tmp_path / "config.json", {"auths": {password_registry.host: {"auth": wrong}}})
    other = written(tmp_path / "other.json", {"auths": {}})
    for client, told in (
        (with_file(settings, file), f"{password_registry.host} refuses the password of '{USER}' from {file}"),
        (with_file(settings, other), f"there is none for it in {other}: log in with `docker login`"),
        (Registry(settings), "wants a user and a password: log in with `docker login` or `podman login`, or use"),
    ):
        with client, pytest.raises(ImageFault) as caught:
            client.resolve(reference)
        assert caught.value.reason == "Unauthorized"
        assert not caught.value.retry
        assert "wrong-one" not in str(caught.value)
        assert told in caught.value.message


def helper(directory: Path, name: str, script: str) -> None:
    program = directory / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("field", ["credHelpers", "credsStore"])
def test_a_password_from_a_helper(
    password_registry: DockerRegistry,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    field: str,
) -> None:
    host = password_registry.host
    secret = json.dumps({"ServerURL": host, "Username": USER, "Secret": PASSWORD})
    helper(tmp_path, "test", f"""read host; [ "$1 $host" = "get {host}" ] && echo '{secret}'""")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    file = written(tmp_path / "config.json", {field: "test" if field == "credsStore" else {host: "test"}})
    with with_file(settings, file) as client:
        push(client, Reference.parse(f"{host}/a/helped"), b"disk")


def test_tokens_for_strangers_and_users(
    token_registry: DockerRegistry, token_server: TokenServer, settings: Settings, tmp_path: Path
) -> None:
    host = token_registry.host
    public, private = Reference.parse(f"{host}/public/disk"), Reference.parse(f"{host}/private/disk")
    file = written(tmp_path / "auth.json", {"auths": {host: {"username": USER, "password": PASSWORD}}})
    with with_file(settings, file) as client, Registry(settings) as stranger:
        digest, layer = push(client, public, b"disk")
        push(client, private, b"disk")
        before = len(token_server.asked)
        assert stranger.resolve(public).digest == digest
        for start in range(4):
            assert stranger.blob(public, layer).read(start, 1) == b"disk"[start : start + 1]
        assert token_server.asked[before:] == [("", ["repository:public/disk:pull"])]
        with pytest.raises(ImageFault) as caught:
            stranger.resolve(private)
        assert caught.value.reason == "Unauthorized"
        assert "log in with" in caught.value.message


def test_a_refresh_token(token_registry: DockerRegistry, settings: Settings, tmp_path: Path) -> None:
    host = token_registry.host
    auth = base64.b64encode(b"00000000-0000-0000-0000-000000000000:").decode()
    file = written(tmp_path / "config.json", {"auths": {host: {"auth": auth, "identitytoken": REFRESH}}})
    with with_file(settings, file) as client:
        push(client, Reference.parse(f"{host}/private/refreshed"), b"disk")


def test_a_token_that_is_over_is_renewed(
    token_registry: DockerRegistry,
    token_server: TokenServer,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    namespace = f"{token_registry.host}/private"
    reference = Reference.parse(f"{namespace}/old")
    file = written(tmp_path / "auth.json", {"auths": {namespace: {"username": USER, "password": PASSWORD}}})
    with with_file(settings, file) as client:
        push(client, reference, b"disk")
        monkeypatch.setattr(token_server, "seconds", 1)
        with with_file(settings, file) as other:
            other.resolve(reference)
            before = len(token_server.asked)
            other.resolve(reference)
            assert len(token_server.asked) == before
            deadline = time.monotonic() + 10
            while len(token_server.asked) == before and time.monotonic() < deadline:
                other.resolve(reference)
            assert len(token_server.asked) > before


GARBAGE = [
    (b"not json", "BadToken"),
    (b"{}", "BadToken"),
    (b'{"token": 5}', "BadToken"),
    (b'{"token": "a\\r\\nX-Evil: 1"}', "BadToken"),
    (b'{"token": "' + b"x" * 100_000 + b'"}', "BadToken"),
    (b"[" * 200_000, "BadToken"),
    (b" " * 3_000_000, "TooLarge"),
]


@pytest.mark.parametrize(("body", "reason"), GARBAGE, ids=[str(number) for number in range(len(GARBAGE))])
def test_garbage_instead_of_a_token(settings: Settings, body: bytes, reason: str) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/token"):
            answer(client, 200, body)
        else:
            answer(client, 401, www_authenticate=f'Bearer realm="{server.url}/token",service="x"')

    with FaultyServer(handler) as server, Registry(settings) as client:
        with pytest.raises(ImageFault) as caught:
            client.resolve(Reference.parse(f"{server.host}/a/b"))
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    "challenge",
    [
        "",
        "Bearer",
        'Bearer realm="file:///etc/passwd"',
        'Bearer realm="http://192.0.2.1/token"',
        'Bearer realm="http://[::1"',
        f'Bearer realm="https://{"a" * 70}.example/token"',
        "Negotiate abc",
        "Basic",
        'Bearer realm="' + "x" * 9000 + '"',
        '=,=",",,,"',
    ],
)
def test_absurd_challenges(settings: Settings, challenge: str) -> None:
    with (
        FaultyServer(lambda asked, client: answer(client, 401, www_authenticate=challenge)) as server,
        Registry(settings) as client,
        pytest.raises(ImageFault) as caught,
    ):
        client.resolve(Reference.parse(f"{server.host}/a/b"))
    assert caught.value.reason in ("Unauthorized", "BadAddress", "BadChallenge")


@pytest.mark.parametrize("challenge", ["Basic", 'Bearer realm="http://203.0.113.1/token"'])
def test_what_one_repository_wants_is_not_wanted_of_others(settings: Settings, challenge: str) -> None:
    digest = f"sha256:{'a' * 64}"

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/v2/private/"):
            answer(client, 401, www_authenticate=challenge)
        else:
            answer(client, 200, docker_content_digest=digest)

    with FaultyServer(handler) as server, Registry(settings) as client:
        with pytest.raises(ImageFault):
            client.digest(Reference.parse(f"{server.host}/private/a"))
        assert str(client.digest(Reference.parse(f"{server.host}/open/b"))) == digest


def test_a_silent_token_server_holds_up_no_other_registry(settings: Settings) -> None:
    waiting = threading.Event()

    def silence(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/token"):
            waiting.set()
            silent.stopping.wait()
        else:
            answer(client, 401, www_authenticate=f'Bearer realm="{silent.url}/token"')

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/token"):
            answer(client, 200, b'{"token":"abc"}')
        elif asked.headers.get("authorization") == "Bearer abc":
            answer(client, 404)
        else:
            answer(client, 401, www_authenticate=f'Bearer realm="{other.url}/token"')

    def ask(server: FaultyServer) -> str:
        with pytest.raises(ImageFault) as caught:
            client.resolve(Reference.parse(f"{server.host}/a/b"))
        return caught.value.reason

    with (
        Registry(replace(settings, tries=1)) as client,
        ThreadPoolExecutor() as threads,
        FaultyServer(handler) as other,
        FaultyServer(silence) as silent,
    ):
        held = threads.submit(ask, silent)
        assert waiting.wait(5)
        assert threads.submit(ask, other).result(3) == "NotFound"
        assert not held.done()


def test_tls_with_a_given_authority(
    tls_registry: DockerRegistry, certificates: Certificates, settings: Settings, tmp_path: Path
) -> None:
    reference = Reference.parse(f"{tls_registry.host}/a/b")
    authority = tmp_path / "ca.pem"
    authority.write_text(certificates.authority)
    with Registry(replace(settings, ca=authority)) as client:
        data = os.urandom(3 << 20)
        digest, layer = push(client, reference, data)
        assert client.resolve(reference).digest == digest
        assert client.read(reference, layer, len(data)) == data


@pytest.mark.parametrize("lost", [1, 2, 3, 5])
def test_lost_connections_do_not_make_it_a_registry_without_tls(
    tls_registry: DockerRegistry, settings: Settings, certificates: Certificates, lost: int
) -> None:
    """Those to a host that may do without: this one answers that it was sent a bad request."""
    trusting = replace(settings, authorities=certificates.authority)
    with Gate(tls_registry.port) as gate, Registry(trusting) as client:
        gate.lose(lost)
        pushed, _ = push(client, Reference.parse(f"{gate.host}/disks/lost{lost}:v1"), b"0123456789")
        assert client.digest(Reference.parse(f"{gate.host}/disks/lost{lost}:v1")) == pushed


def test_a_certificate_that_is_not_trusted_is_final(tls_registry: DockerRegistry, settings: Settings) -> None:
    with Registry(settings) as client, pytest.raises(ImageFault) as caught:
        client.resolve(Reference.parse(f"{tls_registry.host}/a/b"))
    assert caught.value.reason == "BadCertificate"
    assert not caught.value.retry


def test_an_authority_that_is_none(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ImageFault) as caught:
        Registry(replace(settings, ca=tmp_path / "ca.pem"))
    assert caught.value.reason == "BadCa"
