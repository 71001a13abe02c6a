"""Pushes: streamed, resumed, mounted, refused."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from images.servers.faulty import Asked, FaultyServer, answer
from images.servers.registry import DockerRegistry
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry

LAYER = "application/vnd.oci.image.layer.v1.tar"


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def test_a_blob_is_streamed_in_pieces_with_progress(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference, data, told = repository(), os.urandom(20_000_000), []
    descriptor = registry.push_blob(
        reference, pieces(data, 300_001), media_type=LAYER, size=len(data), progress=lambda *each: told.append(each)
    )
    assert descriptor.digest == Digest.of(data)
    assert descriptor.size == len(data)
    assert told[-1] == (len(data), len(data))
    assert len(told) > 1
    assert registry.read(reference, descriptor, len(data)) == data


def test_an_empty_blob(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    descriptor = registry.push_blob(reference, [], media_type=LAYER)
    assert registry.read(reference, descriptor, 0) == b""


def never() -> Iterator[bytes]:
    raise AssertionError("it was read")
    yield b""


def test_what_is_there_is_not_sent_again(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference, other, data = repository(), repository(), os.urandom(10_000)
    first = registry.push_blob(reference, [data], media_type=LAYER)
    assert registry.push_blob(reference, never(), media_type=LAYER, digest=first.digest) == first
    mounted = registry.push_blob(other, never(), media_type=LAYER, digest=first.digest, mount_from=[reference])
    assert mounted == first
    assert registry.read(other, mounted, len(data)) == data


def test_what_cannot_be_mounted_is_sent(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference, empty, data = repository(), repository(), os.urandom(10_000)
    found = registry.push_blob(
        reference, [data], media_type=LAYER, digest=Digest.of(data), mount_from=[empty, reference]
    )
    assert registry.read(reference, found, len(data)) == data


def test_another_digest_than_was_said_leaves_nothing(
    registry: Registry, repository: Callable[[], Reference], docker_registry: DockerRegistry
) -> None:
    reference = repository()
    with pytest.raises(ImageFault) as caught:
        registry.push_blob(reference, [b"data"], media_type=LAYER, digest=Digest.of(b"other"))
    assert caught.value.reason == "WrongDigest"
    uploads = docker_registry.storage.glob(f"docker/registry/v2/repositories/{reference.repository}/_uploads/*/data")
    assert not list(uploads)


def test_a_source_that_fails_leaves_nothing(
    registry: Registry, repository: Callable[[], Reference], docker_registry: DockerRegistry
) -> None:
    reference = repository()

    def source() -> Iterator[bytes]:
        yield b"x" * 9_000_000
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        registry.push_blob(reference, source(), media_type=LAYER)
    uploads = docker_registry.storage.glob(f"docker/registry/v2/repositories/{reference.repository}/_uploads/*/data")
    assert not list(uploads)


class CuttingProxy:
    """Passes connections on to a port, and cuts each after so many bytes towards the server, as often as `cuts`."""

    def __init__(self, target: int, after: int, cuts: int) -> None:
        self._target, self._after, self._cuts = target, after, cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> CuttingProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        passed = 0
        try:
            while data := client.recv(65536):
                server.sendall(data)
                passed += len(data)
                if passed > self._after and self.cut < self._cuts:
                    self.cut += 1
                    break
        except OSError:
            pass
        for each in (server, client):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            # With bytes unread, this is a reset: whoever is still sending learns of it at once.
            each.close()

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


class Pieces:
    """A source that can be read again."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.read = 0

    def __iter__(self) -> Iterator[bytes]:
        self.read += 1
        return pieces(self._data, 1_000_000)


def test_an_upload_that_the_registry_forgets_is_begun_again(
    registry: Registry, repository: Callable[[], Reference], docker_registry: DockerRegistry
) -> None:
    """docker-registry cannot go on after a lost connection."""
    reference, source = repository(), Pieces(os.urandom(20_000_000))
    with CuttingProxy(docker_registry.port, 3_000_000, 1) as proxy:
        through = Reference.parse(f"127.0.0.1:{proxy.port}/{reference.repository}:v1")
        descriptor = registry.push_blob(through, source, media_type=LAYER)
        assert (proxy.cut, source.read) == (1, 2)
    assert registry.read(reference, descriptor, 20_000_000) == b"".join(source)


def test_a_source_that_cannot_be_read_again(
    registry: Registry, repository: Callable[[], Reference], docker_registry: DockerRegistry
) -> None:
    with CuttingProxy(docker_registry.port, 3_000_000, 1) as proxy:
        through = Reference.parse(f"127.0.0.1:{proxy.port}/{repository().repository}:v1")
        with pytest.raises(ImageFault) as caught:
            registry.push_blob(through, iter(Pieces(bytes(20_000_000))), media_type=LAYER)
    assert caught.value.reason == "UploadLost"
    assert caught.value.retry


class Uploads:
    """A registry that takes uploads as the specification says, and loses the connection in the middle of pieces.

    `breaks`: for each piece in turn, how many of its bytes are taken before the connection is cut.
    """

    def __init__(self, breaks: list[int]) -> None:
        self._breaks = breaks
        self.data = bytearray()
        self.whole = b""

    def __call__(self, asked: Asked, client: socket.socket) -> None:
        place = "/v2/a/b/blobs/uploads/1?state=x"
        if asked.method == "POST":
            answer(client, 202, location=place)
        elif asked.method == "GET" and "uploads" in asked.path:
            answer(client, 204, location=place, range=f"0-{max(len(self.data) - 1, 0)}", content_length="")
        elif asked.method == "PATCH":
            self._take(asked, client, place)
        elif asked.method == "PUT":
            self.whole = bytes(self.data)
            answer(client, 201)
        else:
            answer(client, 404)

    def _take(self, asked: Asked, client: socket.socket, place: str) -> None:
        assert asked.headers["content-range"] == f"{len(self.data)}-{len(self.data) + len(asked.body) - 1}"
        if self._breaks:
            self.data += asked.body[: self._breaks.pop(0)]
            client.shutdown(socket.SHUT_RDWR)
        else:
            self.data += asked.body
            answer(client, 202, location=place)


def test_an_upload_goes_on_where_the_registry_got_to(registry: Registry) -> None:
    data = os.urandom(20_000_000)
    uploads = Uploads([1_000_000, 0, 2_000_000, 100_000_000])
    with FaultyServer(uploads) as server:
        reference = Reference.parse(f"{server.host}/a/b")
        descriptor = registry.push_blob(reference, iter(pieces(data, 1_000_000)), media_type=LAYER)
    assert uploads.whole == data
    assert descriptor.digest == Digest.of(data)


def test_a_manifest_that_is_pushed_under_another_digest(
    registry: Registry, repository: Callable[[], Reference]
) -> None:
    from ingot.images.registry.manifest import OCI_INDEX, Index, encode

    raw = encode(Index(manifests=[]))
    with pytest.raises(ImageFault) as caught:
        registry.push_manifest(repository().at(Digest.of(b"x")), raw, OCI_INDEX)
    assert caught.value.reason == "WrongDigest"
