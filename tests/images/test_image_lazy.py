"""Images read lazily from a real registry: whole, verified, followed by traces, hydrated, and through its failures."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from images.servers.gate import Gate
from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.images.cache import Cache
from ingot.images.chunk import CHUNK_SIZE
from ingot.images.content import FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.lazy import trace
from ingot.images.lazy.budget import CREDIT
from ingot.images.lazy.open import LazyDisk, LazyOptions, open_lazy
from ingot.images.lazy.pace import Pace
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

CHUNKS = 256
SIZE = 2 * CHUNKS * CHUNK_SIZE
ALONE = LazyOptions(follow=False)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second chunk is data, half of which can be compressed."""
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    with path.open("wb") as file:
        for number in range(CHUNKS):
            file.seek(2 * number * CHUNK_SIZE)
            file.write(os.urandom(CHUNK_SIZE // 2) + number.to_bytes(4, "big") * (CHUNK_SIZE // 8))
        file.truncate(SIZE)
    return path


@pytest.fixture
def pushed(registry: Registry, repository: Callable[[], Reference], disk: Path) -> Reference:
    reference = repository()
    with FileContent(disk) as content:
        push_disk(registry, content, reference, PushOptions())
    return reference


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def opened(
    registry: Registry, reference: Reference, directory: Path, options: LazyOptions = ALONE
) -> Iterator[LazyDisk]:
    content = open_lazy(registry, reference, Cache(directory), options)
    try:
        yield content
    finally:
        content.close()


def test_all_of_it_is_read(registry: Registry, pushed: Reference, disk: Path, tmp_path: Path) -> None:
    with opened(registry, pushed, tmp_path) as lazy:
        assert read(lazy, 0, lazy.size) == disk.read_bytes()
        assert [extent.data for extent in lazy.extents(0, 4 * CHUNK_SIZE)] == [True, False, True, False]
        # The table of reference counts is not read, and may come all the same.
        assert 0 <= lazy.chunks.figures.moved - lazy.chunks.figures.touched < 4096


def test_only_what_is_read_is_moved(registry: Registry, pushed: Reference, disk: Path, tmp_path: Path) -> None:
    whole = disk.read_bytes()
    with opened(registry, pushed, tmp_path) as lazy:
        for number in (7, 90, 233, 12, 151, 170, 2, 195, 44, 60):
            start = 2 * number * CHUNK_SIZE + 512
            assert read(lazy, start, 4096) == whole[start : start + 4096]
        figures = lazy.chunks.figures
    assert figures.moved <= figures.touched + CREDIT
    assert figures.moved < CHUNKS * CHUNK_SIZE // 3


def test_what_is_in_the_cache_is_not_moved_again(registry: Registry, pushed: Reference, tmp_path: Path) -> None:
    with opened(registry, pushed, tmp_path) as lazy:
        first = read(lazy, 0, lazy.size)
    with opened(registry, pushed, tmp_path) as lazy:
        assert read(lazy, 0, lazy.size) == first
        assert lazy.chunks.figures.moved == 0
        assert lazy.chunks.figures.from_disk > CHUNKS


def test_what_was_pulled_on_this_machine_is_not_moved_again(
    registry: Registry, settings: Settings, pushed: Reference, disk: Path, tmp_path: Path
) -> None:
    options = ImportOptions(settings=settings, cache=tmp_path / "cache")
    import_image(Source.parse(f"docker://{pushed}"), tmp_path / "disk.raw", options, lambda done, whole: None)
    with opened(registry, pushed, tmp_path / "cache") as lazy:
        assert read(lazy, 0, lazy.size) == disk.read_bytes()
        assert lazy.chunks.figures.moved == 0
    # Only the tables were kept besides the disk.
    assert Cache(tmp_path / "cache").usage()[1] < 8
    (tmp_path / "disk.raw").unlink()
    with opened(registry, pushed, tmp_path / "cache") as lazy:
        assert read(lazy, 0, lazy.size) == disk.read_bytes()


@pytest.fixture
def harmed(registry: Registry, docker_registry: DockerRegistry, pushed: Reference) -> Iterator[Reference]:
    """64 bytes in the middle of the layer are others than the image says."""
    layer = registry.resolve(pushed).manifest.layers[0].digest.hex
    (blob,) = docker_registry.storage.rglob(f"{layer}/data")
    good = blob.read_bytes()
    middle = len(good) // 2
    blob.write_bytes(good[:middle] + bytes(64) + good[middle + 64 :])
    yield pushed
    # The registry has one copy of it for all repositories.
    blob.write_bytes(good)


def test_wrong_bytes_are_never_given(registry: Registry, harmed: Reference, disk: Path, tmp_path: Path) -> None:
    whole = disk.read_bytes()
    refused = []
    with opened(registry, harmed, tmp_path) as lazy:
        for start in range(0, SIZE, CHUNK_SIZE):
            try:
                given = read(lazy, start, CHUNK_SIZE)
            except ImageFault as fault:
                refused.append(fault.reason)
            else:
                assert given == whole[start : start + CHUNK_SIZE]
    # The neighbours of the bad one, which came in the same request, are given.
    assert refused in (["WrongDigest"], ["BadChunk"], ["BadChunk", "BadChunk"])


def test_a_trace_is_recorded_attached_and_followed(registry: Registry, pushed: Reference, tmp_path: Path) -> None:
    order = [number * 37 % CHUNKS for number in range(100)]
    with opened(registry, pushed, tmp_path / "first") as lazy:
        for number in order:
            read(lazy, 2 * number * CHUNK_SIZE, 1)
        recorded = trace.Trace.of(lazy.disk.layer.digest, lazy.chunks.order)
        trace.attach(registry, lazy.disk.image, recorded)
        touched = lazy.chunks.figures.touched
    with opened(registry, pushed, tmp_path / "second", LazyOptions()) as lazy:
        wait_until(lambda: lazy.chunks.figures.moved >= touched)
        for number in order:
            read(lazy, 2 * number * CHUNK_SIZE, 1)
        # Of what is guessed when it is opened, before the trace is there, not all need be in the trace.
        assert lazy.chunks.figures.moved <= touched + 2 * CHUNK_SIZE


def test_the_newest_trace_counts_and_a_hostile_one_does_no_harm(
    registry: Registry, pushed: Reference, disk: Path, tmp_path: Path
) -> None:
    image = registry.resolve(pushed)
    layer = image.manifest.layers[0].digest
    trace.attach(registry, image, trace.Trace(str(layer), [(-5, 1 << 62), (1 << 40, 3), (0, 0), (3, -7)]))
    with opened(registry, pushed, tmp_path, LazyOptions()) as lazy:
        assert read(lazy, 0, lazy.size) == disk.read_bytes()
        figures = lazy.chunks.figures
    assert figures.moved <= figures.touched + 4096


def test_hydrated_it_needs_no_registry(
    docker_registry: DockerRegistry, settings: Settings, pushed: Reference, disk: Path, tmp_path: Path
) -> None:
    with Gate(docker_registry.port) as gate, Registry(settings) as registry:
        behind = Reference.parse(str(pushed).replace(docker_registry.host, gate.host))
        with opened(registry, behind, tmp_path, LazyOptions(hydrate=True)) as lazy:
            wait_until(lambda: lazy.ahead.hydrated)
            gate.shut()
            assert read(lazy, 0, lazy.size) == disk.read_bytes()
            assert lazy.chunks.figures.hydrated > 0


def test_hydration_keeps_to_its_rate(registry: Registry, pushed: Reference, tmp_path: Path) -> None:
    rate = 4 << 20
    begun = time.monotonic()
    with opened(registry, pushed, tmp_path, LazyOptions(hydrate=True, pace=Pace(rate))) as lazy:
        wait_until(lambda: lazy.chunks.figures.hydrated >= 2 << 20)
        moved, took = lazy.chunks.figures.hydrated, time.monotonic() - begun
    # One request's chunks before it waits for the first time.
    assert moved - 8 * CHUNK_SIZE <= rate * took


def test_readers_wait_for_a_registry_that_comes_back(
    docker_registry: DockerRegistry, pushed: Reference, disk: Path, tmp_path: Path
) -> None:
    with Gate(docker_registry.port) as gate, Registry(Settings(tries=2, backoff=0.01)) as registry:
        behind = Reference.parse(str(pushed).replace(docker_registry.host, gate.host))
        with opened(registry, behind, tmp_path) as lazy:
            read(lazy, 0, 4096)
            gate.shut(for_seconds=1.0)
            start = SIZE - 2 * CHUNK_SIZE
            assert read(lazy, start, CHUNK_SIZE) == disk.read_bytes()[start : start + CHUNK_SIZE]


def test_a_registry_that_falls_silent_is_waited_for_no_longer_than_readers_are_patient(
    docker_registry: DockerRegistry, pushed: Reference, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.images.lazy.open._LEAST_SILENCE", 0.0)
    # The settings of an import would wait for three minutes.
    with LimitedProxy(docker_registry.port) as proxy, Registry(Settings()) as registry:
        behind = Reference.parse(str(pushed).replace(docker_registry.host, proxy.host))
        with opened(registry, behind, tmp_path, LazyOptions(follow=False, patience=1.5)) as lazy:
            proxy.hold_after(0)
            begun = time.monotonic()
            with pytest.raises(ImageFault) as caught:
                read(lazy, SIZE - 2 * CHUNK_SIZE, CHUNK_SIZE)
            assert 1.0 < time.monotonic() - begun < 10.0
            assert caught.value.retry
            proxy.hold_after(math.inf)
            start = SIZE - 2 * CHUNK_SIZE
            assert read(lazy, start, CHUNK_SIZE) == disk.read_bytes()[start : start + CHUNK_SIZE]


def test_a_registry_that_stays_away_is_a_clear_error(
    docker_registry: DockerRegistry, pushed: Reference, disk: Path, tmp_path: Path
) -> None:
    with Gate(docker_registry.port) as gate, Registry(Settings(tries=2, backoff=0.01)) as registry:
        behind = Reference.parse(str(pushed).replace(docker_registry.host, gate.host))
        with opened(registry, behind, tmp_path, LazyOptions(follow=False, patience=0.5)) as lazy:
            gate.shut()
            with pytest.raises(ImageFault) as caught:
                read(lazy, SIZE - 2 * CHUNK_SIZE, CHUNK_SIZE)
            assert gate.host in caught.value.subject
            gate.open()
            # Nothing is remembered against it.
            start = SIZE - 2 * CHUNK_SIZE
            assert read(lazy, start, CHUNK_SIZE) == disk.read_bytes()[start : start + CHUNK_SIZE]
