"""Manifests and indexes: which image is chosen, and what is refused."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator

import pytest

from images.servers.documents import Documents
from images.servers.faulty import Asked, FaultyServer, answer
from images.test_registry_client import push
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    MOST_BYTES,
    OCI_CONFIG,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
    encode,
)
from ingot.images.registry.platform import parse_platform

EMPTY = Descriptor(media_type=OCI_CONFIG, digest=Digest.of(b"{}"), size=2)
IMAGE = encode(Manifest(config=EMPTY, layers=[]))


@pytest.fixture
def documents() -> Documents:
    return Documents()


@pytest.fixture
def server(documents: Documents) -> Iterator[FaultyServer]:
    with FaultyServer(documents) as running:
        yield running


def entry(raw: bytes, media_type: str) -> Descriptor:
    return Descriptor(media_type=media_type, digest=Digest.of(raw), size=len(raw))


def image(label: str) -> bytes:
    return encode(Manifest(config=EMPTY, layers=[], annotations={"label": label}))


@pytest.mark.parametrize("docker", [False, True])
def test_of_an_index_the_image_for_the_platform(
    registry: Registry, repository: Callable[[], Reference], docker: bool
) -> None:
    """On a real registry, with the types of OCI and of Docker."""
    reference = repository()
    kind, list_kind = (DOCKER_MANIFEST, DOCKER_INDEX) if docker else (OCI_MANIFEST, OCI_INDEX)
    push(registry, reference.tagged("base"), b"disk")
    base = registry.resolve(reference.tagged("base")).manifest
    entries = []
    for platform in ("linux/amd64", "linux/arm64/v8", "windows/amd64"):
        raw = encode(replace_media(base, kind, platform))
        digest = registry.push_manifest(reference.at(Digest.of(raw)), raw, kind)
        entries.append(Descriptor(media_type=kind, digest=digest, size=len(raw), platform=parse_platform(platform)))
    raw = encode(Index(media_type=list_kind, manifests=entries))
    registry.push_manifest(reference, raw, list_kind)
    for wanted, found in (("linux/amd64", 0), ("linux/arm64", 1), ("linux/arm64/v8", 1), ("windows/amd64", 2)):
        chosen = registry.resolve(reference, parse_platform(wanted))
        assert chosen.digest == entries[found].digest
        assert chosen.index
        assert chosen.index.digest == Digest.of(raw)
        assert chosen.platform == entries[found].platform
    with pytest.raises(ImageFault, match="linux/arm64/v8, windows/amd64") as caught:
        registry.resolve(reference, parse_platform("linux/s390x"))
    assert caught.value.reason == "NoPlatform"


def replace_media(manifest: Manifest, kind: str, platform: str) -> Manifest:
    from msgspec.structs import replace as changed

    note = {"platform": platform} if kind != DOCKER_MANIFEST else None
    layers = manifest.layers if kind != DOCKER_MANIFEST else manifest.layers * (1 + len(platform))
    return changed(manifest, media_type=kind, annotations=note, layers=layers)


def test_an_image_whose_digest_is_wrong(registry: Registry, documents: Documents, server: FaultyServer) -> None:
    wanted = Digest.of(b"something else")
    documents.manifest("a/b", str(wanted), IMAGE)
    with pytest.raises(ImageFault) as caught:
        registry.resolve(Reference.parse(f"{server.host}/a/b@{wanted}"))
    assert caught.value.reason == "WrongDigest"


def test_a_tag_whose_digest_is_not_what_the_registry_says(
    registry: Registry, documents: Documents, server: FaultyServer
) -> None:
    documents.answers["/v2/a/b/manifests/latest"] = (200, IMAGE, {"docker_content_digest": str(Digest.of(b"x"))})
    with pytest.raises(ImageFault) as caught:
        registry.resolve(Reference.parse(f"{server.host}/a/b"))
    assert caught.value.reason == "WrongDigest"


def test_a_config_of_another_digest(registry: Registry, documents: Documents, server: FaultyServer) -> None:
    documents.manifest("a/b", "latest", IMAGE)
    documents.answers[f"/v2/a/b/blobs/{EMPTY.digest}"] = (200, b"[]", {})
    found = registry.resolve(Reference.parse(f"{server.host}/a/b"))
    with pytest.raises(ImageFault) as caught:
        registry.config(found)
    assert caught.value.reason == "WrongDigest"


def test_indexes_without_an_end(registry: Registry, documents: Documents, server: FaultyServer) -> None:
    raw = IMAGE
    for depth in range(6):
        kind = OCI_INDEX if depth else OCI_MANIFEST
        documents.manifest("a/b", "latest", raw, kind)
        raw = encode(Index(manifests=[entry(raw, kind)]))
    documents.index("a/b", "latest", raw)
    with pytest.raises(ImageFault, match="deep") as caught:
        registry.resolve(Reference.parse(f"{server.host}/a/b"))
    assert caught.value.reason == "BadManifest"
    assert len(server.asked) < 10


def test_an_index_that_names_itself_is_a_wrong_digest(
    registry: Registry, documents: Documents, server: FaultyServer
) -> None:
    raw = encode(Index(manifests=[entry(b"x", OCI_INDEX)]))
    documents.index("a/b", "latest", raw)
    documents.answers[f"/v2/a/b/manifests/{Digest.of(b'x')}"] = (200, raw, {"content_type": OCI_INDEX})
    with pytest.raises(ImageFault) as caught:
        registry.resolve(Reference.parse(f"{server.host}/a/b"))
    assert caught.value.reason == "WrongDigest"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "BadManifest"),
        (b"\xff\xfe", "BadManifest"),
        (b"[" * 1_000_000, "BadManifest"),
        (b'{"schemaVersion":2,"x":' + b"[" * 1_000_000, "BadManifest"),
        (b'{"schemaVersion":2,"manifests":' + b"[" * 1_000_000, "BadManifest"),
        (b" " * (MOST_BYTES + 1), "TooLarge"),
        (b'{"schemaVersion":1,"fsLayers":[]}', "BadManifest"),
        (json.dumps({"schemaVersion": 2, "layers": []}).encode(), "BadManifest"),
        (encode(Manifest(config=EMPTY, layers=[EMPTY] * 2000)), "BadManifest"),
        (IMAGE.replace(b'"size":2', b'"size":-2'), "BadManifest"),
        (IMAGE.replace(b'"size":2', b'"size":2000000000000000000'), "BadManifest"),
        (IMAGE.replace(b"sha256:", b"md5:"), "BadManifest"),
    ],
    ids=[
        "empty", "no-text", "deep", "deep-unknown", "deep-index", "large", "schema-1",
        "no-config", "many-layers", "negative", "absurd", "other-digest",
    ],
)  # fmt: skip
def test_absurd_manifests(
    registry: Registry, documents: Documents, server: FaultyServer, body: bytes, reason: str
) -> None:
    documents.manifest("a/b", "latest", body)
    with pytest.raises(ImageFault) as caught:
        registry.resolve(Reference.parse(f"{server.host}/a/b"))
    assert caught.value.reason == reason
    assert str(caught.value).startswith(f"{server.host}/a/b:latest: ")


def test_a_large_manifest_without_a_length(registry: Registry) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            client.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")

    with FaultyServer(handler) as endless, pytest.raises(ImageFault) as caught:
        registry.resolve(Reference.parse(f"{endless.host}/a/b"))
    assert caught.value.reason == "TooLarge"


def test_a_manifest_that_breaks_off_is_asked_for_again(registry: Registry) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        if "manifests" in asked.path and sum("manifests" in each.path for each in breaking.asked) < 3:
            answer(client, 200, IMAGE[:50], content_length=len(IMAGE))
            client.shutdown(socket.SHUT_RDWR)
        else:
            answer(client, 200, IMAGE)

    with FaultyServer(handler) as breaking:
        assert registry.resolve(Reference.parse(f"{breaking.host}/a/b")).digest == Digest.of(IMAGE)


def test_platforms_that_are_none() -> None:
    assert str(parse_platform("linux/arm/v7")) == "linux/arm/v7"
    assert parse_platform("linux/amd64") == Platform(os="linux", architecture="amd64")
    for text in ("", "linux", "a/b/c/d", "linux/", "li nux/amd64", "linux/ä"):
        with pytest.raises(ImageFault):
            parse_platform(text)
