"""Images through a mirror that has other bytes: what comes out is the image all the same, or nothing."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from backports import zstd

from images.servers.faulty import Asked, FaultyServer, PassingHandler, RangeHandler
from images.servers.registry import DockerRegistry
from ingot.images.cache import Cache
from ingot.images.content import read
from ingot.images.lazy.open import LazyOptions, open_lazy
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Manifest, encode
from ingot.images.registry.settings import Settings

DISK = os.urandom(12 << 20)
LAYER = "application/vnd.oci.image.layer.v1.tar"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "zstd": lambda data: zstd.compress(data, 1),
    "plain": lambda data: data,
}


def layer_of(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def push(registry: Registry, reference: Reference, *layers: bytes) -> dict[str, bytes]:
    """An image of these layers; they by the paths of their blobs."""
    config = registry.push_blob(reference, [b"{}"], media_type=OCI_CONFIG)
    pushed = [registry.push_blob(reference, [layer], media_type=LAYER) for layer in layers]
    registry.push_manifest(reference, encode(Manifest(config=config, layers=pushed)), OCI_MANIFEST)
    names = [f"/v2/{reference.repository}/blobs/{each.digest}" for each in pushed]
    return dict(zip(names, layers, strict=True))


def changed(data: bytes, place: int) -> bytes:
    found = bytearray(data)
    found[place] ^= 1
    return bytes(found)


@contextmanager
def wrong_mirror(host: str, blobs: dict[str, bytes], settings: Settings) -> Iterator[tuple[Settings, FaultyServer]]:
    """A mirror of a registry that has these blobs instead of its own, and settings that name it."""

    def before(asked: Asked, client: socket.socket) -> bool:
        if asked.path in blobs:
            RangeHandler(blobs[asked.path])(asked, client)
        return asked.path in blobs

    with FaultyServer(PassingHandler(host, before)) as mirror:
        yield replace(settings, mirrors={host: [mirror.host]}), mirror


def pull(reference: Reference, target: Path, settings: Settings) -> None:
    options = ImportOptions(settings=settings)
    import_image(Source(Kind.REGISTRY, str(reference)), target, options, lambda done, whole: None)


@pytest.mark.parametrize("place", ["front", "middle", "end"])
@pytest.mark.parametrize("packed", PACKERS)
def test_an_import_of_a_stream_asks_the_registry_at_last(
    registry: Registry,
    repository: Callable[[], Reference],
    docker_registry: DockerRegistry,
    settings: Settings,
    tmp_path: Path,
    packed: str,
    place: str,
) -> None:
    reference = repository()
    blobs = push(registry, reference, PACKERS[packed](layer_of("disk/disk.raw", DISK)))
    wrong = {
        name: changed(data, {"front": 0, "middle": len(data) // 2, "end": -1}[place]) for name, data in blobs.items()
    }
    with wrong_mirror(docker_registry.host, wrong, settings) as (mirrored, mirror):
        pull(reference, tmp_path / "disk.raw", mirrored)
        assert {asked.path for asked in mirror.asked} >= set(blobs)
    assert (tmp_path / "disk.raw").read_bytes() == DISK
    assert [path.name for path in tmp_path.iterdir()] == ["disk.raw"]


def test_an_import_that_goes_on_with_what_a_mirror_gave_begins_anew(
    registry: Registry,
    repository: Callable[[], Reference],
    docker_registry: DockerRegistry,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ingot.images.pipeline.pour.SAVE_SECONDS", 0.0)
    reference = repository()
    blobs = push(registry, reference, layer_of("disk/disk.raw", DISK))
    wrong = {name: changed(data, 5000) for name, data in blobs.items()}

    noted, save = threading.Event(), Journal.save

    def note(journal: Journal, state: State) -> None:
        save(journal, state)
        noted.set()

    monkeypatch.setattr(Journal, "save", note)

    def killed(done: int, whole: int) -> None:
        if done > 8 << 20:
            assert noted.wait(30)
            raise KeyboardInterrupt

    with wrong_mirror(docker_registry.host, wrong, settings) as (mirrored, mirror):
        options = ImportOptions(settings=mirrored)
        with pytest.raises(KeyboardInterrupt):
            import_image(Source(Kind.REGISTRY, str(reference)), tmp_path / "disk.raw", options, killed)
        pull(reference, tmp_path / "disk.raw", mirrored)
        assert any(asked.path in blobs and asked.range for asked in mirror.asked)
    assert (tmp_path / "disk.raw").read_bytes() == DISK


def test_a_mirror_with_wrong_bytes_rests(
    registry: Registry,
    repository: Callable[[], Reference],
    docker_registry: DockerRegistry,
    settings: Settings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    reference = repository()
    blobs = push(registry, reference, layer_of("disk/disk.raw", DISK))
    wrong = {name: changed(data, 5000) for name, data in blobs.items()}
    with wrong_mirror(docker_registry.host, wrong, settings) as (mirrored, mirror), Registry(mirrored) as client:
        cache = Cache(tmp_path / "cache")
        with closing(open_lazy(client, reference, cache, LazyOptions(follow=False))) as opened:
            assert read(opened, 0, opened.size) == DISK
        assert f"{mirror.host} is left for 60 s: its content is sha256:" in caplog.text
        asked = len(mirror.asked)
        client.resolve(reference)
        assert len(mirror.asked) == asked


@pytest.mark.parametrize("place", ["front", "middle"])
def test_parts_of_a_layer_come_from_the_registry_at_last(
    registry: Registry,
    repository: Callable[[], Reference],
    docker_registry: DockerRegistry,
    settings: Settings,
    tmp_path: Path,
    place: str,
) -> None:
    """Also those above the disk, and those that an index leads to."""
    reference = repository()
    layers = [gzip.compress(layer_of(name, DISK), 1) for name in ("disk/disk.raw", "etc/other")]
    blobs = push(registry, reference, *layers)
    wrong = {name: changed(data, {"front": 0, "middle": len(data) // 2}[place]) for name, data in blobs.items()}
    cache = Cache(tmp_path / "cache")
    with wrong_mirror(docker_registry.host, wrong, settings) as (mirrored, mirror):
        for _ in range(2):
            before = len(mirror.asked)
            with (
                Registry(mirrored) as client,
                closing(open_lazy(client, reference, cache, LazyOptions(follow=False))) as opened,
            ):
                assert read(opened, 0, opened.size) == DISK
            assert {asked.path for asked in mirror.asked[before:]} >= set(blobs)
            # The index stays.
            shutil.rmtree(cache.directory / "chunks")
