"""Layers that were not made for random access: read once as a whole, and lazily from then on."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from click.testing import CliRunner

from ingot.cli.main import cli
from ingot.images.cache import Cache
from ingot.images.content import read
from ingot.images.fault import ImageFault
from ingot.images.lazy.open import LazyOptions, open_lazy
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Manifest, encode

SIZE = 32 << 20
BOMB = 256 << 20
ALONE = LazyOptions(follow=False)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and zeros, 1 MiB each in turns."""
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    path.write_bytes(b"".join(os.urandom(1 << 20) + bytes(1 << 20) for _ in range(SIZE >> 21)))
    return path


@pytest.fixture
def tar(disk: Path, tmp_path: Path) -> bytes:
    """A layer with a qcow2."""
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, tmp_path / "disk.qcow2"], check=True)
    with tarfile.open(tmp_path / "layer.tar", "w") as archive:
        archive.add(tmp_path / "disk.qcow2", "disk/disk.qcow2")
    return (tmp_path / "layer.tar").read_bytes()


def push(registry: Registry, reference: Reference, layer: bytes, compression: str) -> Reference:
    config = registry.push_blob(reference, [b"{}"], media_type=OCI_CONFIG)
    pushed = registry.push_blob(reference, [layer], media_type=f"application/vnd.oci.image.layer.v1.tar+{compression}")
    registry.push_manifest(reference, encode(Manifest(config=config, layers=[pushed])), OCI_MANIFEST)
    return reference


@pytest.fixture
def gzipped(registry: Registry, repository: Callable[[], Reference], tar: bytes) -> Reference:
    """As other tools make it."""
    return push(registry, repository(), gzip.compress(tar, 1), "gzip")


def test_a_gzip_layer_is_read_once_and_then_lazily(
    registry: Registry, gzipped: Reference, disk: Path, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    cache = Cache(tmp_path / "cache")
    first = open_lazy(registry, gzipped, cache, ALONE, progress=lambda done, whole: told.append((done, whole)))
    assert read(first, 0, first.size) == disk.read_bytes()
    assert first.chunks.figures.moved == told[-1][0] == told[-1][1] > 0
    first.close()
    # Without the chunks, but with the index, only what is read comes.
    shutil.rmtree(cache.directory / "chunks")
    second = open_lazy(registry, gzipped, cache, ALONE, progress=lambda done, whole: pytest.fail("read as a whole"))
    start = SIZE // 2
    assert read(second, start, 8192) == disk.read_bytes()[start : start + 8192]
    assert 0 < second.chunks.figures.moved < told[-1][1]
    assert read(second, 0, second.size) == disk.read_bytes()
    second.close()


def test_what_cannot_be_lazy_is_read_no_further_than_that_is_known(
    registry: Registry, repository: Callable[[], Reference], tar: bytes, tmp_path: Path
) -> None:
    reference = push(registry, repository(), zstd.compress(tar, 1), "zstd")
    told: list[tuple[int, int]] = []
    cache = Cache(tmp_path / "cache")
    with pytest.raises(ImageFault, match=r"compressed in one frame.*pull it, or push it with") as caught:
        open_lazy(registry, reference, cache, ALONE, progress=lambda done, whole: told.append((done, whole)))
    assert caught.value.reason == "NotLazy"
    assert "--cache-size" not in caught.value.message
    done, whole = told[-1]
    assert done < whole


def test_a_small_cache_is_told_as_what_it_is(registry: Registry, gzipped: Reference, tmp_path: Path) -> None:
    with pytest.raises(
        ImageFault, match="an index of more than 8192 bytes, half of --cache-size: give it more"
    ) as caught:
        open_lazy(registry, gzipped, Cache(tmp_path / "cache", 16384), ALONE)
    assert caught.value.reason == "NotLazy"


@pytest.fixture
def bomb(registry: Registry, repository: Callable[[], Reference]) -> Reference:
    """A layer that unpacks to a thousand times what it has."""
    header = tarfile.TarInfo("disk/disk.raw")
    header.size = BOMB
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(header.tobuf()), *(packer.compress(bytes(1 << 20)) for _ in range(BOMB >> 20))]
    return push(registry, repository(), b"".join([*parts, packer.compress(bytes(1024)), packer.flush()]), "gzip")


def test_a_layer_that_unpacks_to_far_more_takes_no_room(registry: Registry, bomb: Reference, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    found = open_lazy(registry, bomb, cache, ALONE)
    assert found.size == BOMB
    # The first span has the header of the tar too, and what came with that.
    assert all(not extent.data for extent in found.extents(8 << 20, BOMB))
    assert read(found, BOMB - 4096, 4096) == bytes(4096)
    found.close()
    assert sum(path.stat().st_size for path in cache.directory.rglob("*") if path.is_file()) < BOMB >> 4


def test_one_whose_index_would_take_much_memory_is_not_lazy(
    registry: Registry, bomb: Reference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.images.gzip_index.MOST_POINTS", BOMB >> 22)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(ImageFault, match=r"unpacks to more than .* TiB: pull it, or push") as caught:
        open_lazy(registry, bomb, cache, ALONE)
    assert (caught.value.reason, caught.value.retry) == ("NotLazy", False)
    assert not cache.indexes.size()


def test_it_is_not_read_for_a_trace_that_it_cannot_have(gzipped: Reference, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["image", "trace", str(gzipped), "--cache", str(tmp_path / "cache"), "--", "true"])
    assert done.exit_code == 1
    assert "no chunks that could be fetched ahead: push it with `ingot image push`" in done.output
    assert not Cache(tmp_path / "cache").indexes.size()
