"""Taps: sources of a volume that give their bytes slowly, and not beyond a place until they may."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from eventual import eventually
from images.servers.limited import LimitedProxy
from ingot.api.cdi.names import CLONE_STRATEGY
from ingot.api.object import Object, name_of
from ingot.api.resources import STORAGE_CLASSES
from ingot.images.digest import Digest
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Manifest, encode
from ingot.images.registry.settings import Settings
from volumes.shelf import Shelf, volume
from volumes.wares import SLOW_RATE

_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, slots=True)
class Tap:
    """The source of a DataVolume, whose bytes come through the proxy."""

    source: Object
    proxy: LimitedProxy


@contextmanager
def from_web(port: int) -> Iterator[Tap]:
    with LimitedProxy(port, SLOW_RATE) as proxy:
        yield Tap({"http": {"url": f"http://{proxy.host}/slow.raw"}}, proxy)


@contextmanager
def from_registry(port: int, disk: Path) -> Iterator[Tap]:
    """A container disk as every tool makes them: one layer, a tar in one gzip."""
    with Registry(Settings()) as registry:
        _push(registry, Reference.parse(f"127.0.0.1:{port}/test/plain:v1"), disk)
    with LimitedProxy(port, SLOW_RATE) as proxy:
        yield Tap({"registry": {"url": f"docker://{proxy.host}/test/plain:v1"}}, proxy)


def _push(registry: Registry, reference: Reference, disk: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(disk, "disk/disk.img")
    layer = gzip.compress(packed.getvalue(), 1)
    config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
    pushed = registry.push_blob(reference, [layer], media_type=_LAYER, digest=Digest.of(layer))
    made = registry.push_blob(reference, [config], media_type=OCI_CONFIG, digest=Digest.of(config))
    registry.push_manifest(reference, encode(Manifest(config=made, layers=[pushed])), OCI_MANIFEST)


@asynccontextmanager
async def from_claim(shelf: Shelf, url: str, nbd_port: int) -> AsyncIterator[Tap]:
    """A clone that a pod copies, of a claim whose disk is read from afar: over the file in it another one is mounted,
    which has the same bytes on an NBD server."""
    if os.geteuid() != 0 or shutil.which("nbdfuse") is None:
        pytest.skip("a disk that is read slowly takes root and nbdfuse")
    await _have_clones_copied(shelf)
    await shelf.make(volume("golden", {"http": {"url": url}}))
    await shelf.filled("golden")
    await shelf.idle()
    disk = (await shelf.place("golden")) / "disk.img"
    with LimitedProxy(nbd_port, SLOW_RATE) as proxy:
        process = await asyncio.create_subprocess_exec("nbdfuse", "-r", disk, f"nbd://{proxy.host}/slow.raw")
        try:
            await eventually(lambda: asyncio.to_thread(_is_mounted, disk))
            yield Tap({"pvc": {"namespace": shelf.namespace, "name": "golden"}}, proxy)
        finally:
            # It ends with its mount; what was never mounted need not.
            await asyncio.to_thread(subprocess.run, ["umount", "--lazy", disk], check=False)
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


def _is_mounted(disk: Path) -> bool:
    return disk.stat().st_dev != disk.parent.stat().st_dev


async def _have_clones_copied(shelf: Shelf) -> None:
    for each in (await shelf.client.list(STORAGE_CLASSES))["items"]:
        change = {"metadata": {"annotations": {CLONE_STRATEGY: "copy"}}}
        await shelf.client.patch(STORAGE_CLASSES, name_of(each), change)
