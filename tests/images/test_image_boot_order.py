"""A pushed image says in which order a boot reads it, and who opens it lazily is ahead of that boot (X3)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from images.linux_disks import START, make_filesystem, make_tree, noise, put_mbr
from ingot.cli.main import cli
from ingot.images.boot.hint import BOOT_ORDER
from ingot.images.cache import Cache
from ingot.images.chunk import CHUNK_SIZE
from ingot.images.content import FileContent, read
from ingot.images.lazy import trace
from ingot.images.lazy.open import LazyDisk, LazyOptions, open_lazy
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_MANIFEST, encode

_MIB = 1 << 20
KERNEL, INITRD, ELSE = noise("kernel", 2 * _MIB), noise("initrd", 3 * _MIB), noise("else", 8 * _MIB)
FILES = {"boot/vmlinuz-6": KERNEL, "boot/initrd.img-6": INITRD, "srv/else": ELSE, "sbin/init": b"#!/bin/sh\n"}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("disk")
    disk = make_filesystem(made / "disk.raw", make_tree(made / "root", FILES), start=START)
    put_mbr(disk)
    return disk


@pytest.fixture
def pushed(registry: Registry, repository: Callable[[], Reference], disk: Path) -> Reference:
    reference = repository()
    with FileContent(disk) as content:
        push_disk(registry, content, reference, PushOptions())
    return reference


def with_order(registry: Registry, reference: Reference, order: str) -> Reference:
    """The same image, where it says another order."""
    manifest = registry.resolve(reference).manifest
    (layer,) = manifest.layers
    other = msgspec.structs.replace(layer, annotations={**(layer.annotations or {}), BOOT_ORDER: order})
    changed = reference.tagged("changed")
    registry.push_manifest(changed, encode(msgspec.structs.replace(manifest, layers=[other])), OCI_MANIFEST)
    return changed


def moved_unasked(lazy: LazyDisk, least: int) -> int:
    """How many bytes have come by themselves when nothing more does; at least so many."""
    deadline, last = time.monotonic() + 20, -1
    while (moved := lazy.chunks.figures.moved) < least or moved != last or lazy.chunks.busy:
        assert time.monotonic() < deadline
        last = moved
        time.sleep(0.05)
    return moved


def test_what_a_boot_reads_comes_before_it_is_asked_for(
    registry: Registry, pushed: Reference, disk: Path, tmp_path: Path
) -> None:
    whole = disk.read_bytes()
    with closing(open_lazy(registry, pushed, Cache(tmp_path), LazyOptions())) as lazy:
        moved = moved_unasked(lazy, len(KERNEL + INITRD))
        assert moved < len(KERNEL + INITRD) + 2 * _MIB
        tables = lazy.chunks.figures.from_remote
        for data in (KERNEL, INITRD):
            start = whole.index(data[:1024])
            assert read(lazy, start, 1024) == data[:1024]
        assert lazy.chunks.figures.from_remote == tables
        assert read(lazy, 0, lazy.size) == whole


def test_a_trace_goes_before_what_the_image_says(registry: Registry, pushed: Reference, tmp_path: Path) -> None:
    image = registry.resolve(pushed)
    trace.attach(registry, image, trace.Trace.of(image.manifest.layers[0].digest, [0, 1, 2]))
    with closing(open_lazy(registry, pushed, Cache(tmp_path), LazyOptions())) as lazy:
        assert moved_unasked(lazy, 1) < len(KERNEL)


@pytest.mark.parametrize("order", ["", "nonsense", "999999999999", "0+999999999999"])
def test_whatever_an_image_says_it_is_read(
    registry: Registry, pushed: Reference, disk: Path, tmp_path: Path, order: str
) -> None:
    changed = with_order(registry, pushed, order)
    with closing(open_lazy(registry, changed, Cache(tmp_path), LazyOptions())) as lazy:
        assert read(lazy, 0, lazy.size) == disk.read_bytes()
        assert lazy.chunks.figures.moved <= lazy.chunks.figures.touched + 4096


def test_what_it_says_is_no_more_than_the_cache_holds(registry: Registry, pushed: Reference, tmp_path: Path) -> None:
    changed = with_order(registry, pushed, "0+999999999999")
    with closing(open_lazy(registry, changed, Cache(tmp_path, limit=4 * _MIB), LazyOptions())) as lazy:
        assert moved_unasked(lazy, 1) <= 4 * _MIB


def test_inspect_tells_what_a_boot_reads(registry: Registry, pushed: Reference) -> None:
    def run(reference: Reference, *options: str) -> str:
        done = CliRunner().invoke(cli, ["image", "inspect", str(reference), *options])
        assert done.exit_code == 0, done.output
        return done.output

    found = json.loads(run(pushed, "--output", "json"))["disk"]
    assert len(KERNEL + INITRD) // CHUNK_SIZE <= found["boot"]["count"] < found["chunks"]["count"] // 2
    assert "Boot:      reads 5." in run(pushed)
    changed = with_order(registry, pushed, "nonsense")
    assert json.loads(run(changed, "--output", "json"))["disk"]["boot"] is None
    assert "Boot:" not in run(changed)
