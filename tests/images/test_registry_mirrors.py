"""Mirrors: they are asked first, and left where they fail."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from images.servers.documents import Documents
from images.servers.faulty import FaultyServer
from images.servers.registry import DockerRegistry
from images.test_registry_client import push
from images.test_registry_manifests import image
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings


def test_the_mirror_is_asked_first_and_the_registry_when_it_fails(
    docker_registry: DockerRegistry, registry: Registry, repository: Callable[[], Reference], settings: Settings
) -> None:
    reference = repository()
    data = b"0123456789" * 1000
    digest, layer = push(registry, reference, data)
    documents = Documents()
    with FaultyServer(documents) as mirror:
        mirrors = {docker_registry.host: [f"{mirror.host}/cached"]}
        with Registry(replace(settings, mirrors=mirrors)) as client:
            assert client.resolve(reference).digest == digest
            assert any(f"/v2/cached/{reference.repository}/manifests" in asked.path for asked in mirror.asked)
            assert client.blob(reference, layer).read(5, 10) == data[5:15]
            assert client.read(reference, layer, len(data)) == data
            documents.manifest(f"cached/{reference.repository}", "v1", image("mirrored"))
            assert client.resolve(reference).manifest.annotations == {"label": "mirrored"}


def test_a_mirror_with_other_content_is_left(
    docker_registry: DockerRegistry, registry: Registry, repository: Callable[[], Reference], settings: Settings
) -> None:
    reference = repository()
    digest, layer = push(registry, reference, b"0123456789")
    documents = Documents({f"/v2/{reference.repository}/blobs/{layer.digest}": (200, b"9876543210", {})})
    with FaultyServer(documents) as mirror:
        documents.manifest(reference.repository, str(digest), image("another"))
        with Registry(replace(settings, mirrors={docker_registry.host: [mirror.host]})) as client:
            assert client.resolve(reference.at(digest)).digest == digest
            assert client.read(reference, layer, 10) == b"0123456789"
            assert client.referrers(reference, digest) == []
        assert len(mirror.asked) >= 3


def test_a_mirror_that_is_not_there_is_left(
    docker_registry: DockerRegistry,
    registry: Registry,
    repository: Callable[[], Reference],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It costs one more try in all, not all tries for each document."""
    waited: list[float] = []
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", waited.append)
    reference = repository()
    digest, layer = push(registry, reference, b"0123456789")
    with socket.create_server(("127.0.0.1", 0)) as server:
        dead = f"127.0.0.1:{server.getsockname()[1]}"
    with Registry(Settings(mirrors={docker_registry.host: [dead]})) as client:
        for _ in range(3):
            assert client.resolve(reference).digest == digest
            assert client.read(reference, layer, 10) == b"0123456789"
            assert client.referrers(reference, digest) == []
    assert sum(waited) < 1.5
    assert [text for text in caplog.messages if "left" in text] == [f"{dead} is left for 60 s: nothing listens there"]


def test_a_registry_that_is_not_there_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", waited.append)
    with socket.create_server(("127.0.0.1", 0)) as server:
        dead = f"127.0.0.1:{server.getsockname()[1]}"
    with Registry(Settings()) as client, pytest.raises(ImageFault, match="nothing listens there"):
        client.resolve(Reference.parse(f"{dead}/a/b"))
    assert sum(waited) < 1.5


def test_a_mirror_that_breaks_within_a_stream_is_left(
    docker_registry: DockerRegistry, registry: Registry, repository: Callable[[], Reference], settings: Settings
) -> None:
    reference = repository()
    data = b"0123456789" * 10_000
    _, layer = push(registry, reference, data)
    documents = Documents()
    path = f"/v2/{reference.repository}/blobs/{layer.digest}"
    with FaultyServer(documents) as mirror:
        documents.answers[path] = (200, data[:500], {"content_length": str(len(data)), "connection": "close"})
        with Registry(
            replace(settings, tries=1, patience=0.5, mirrors={docker_registry.host: [mirror.host]})
        ) as client:
            assert client.read(reference, layer, len(data)) == data
            assert any(asked.path == path for asked in mirror.asked)
