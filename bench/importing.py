"""Imports of a container disk, beside what one would do by hand: `skopeo copy`, `tar -xz`, `qemu-img convert`."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import cpu
from bench.debian import debian_disk
from images.servers.registry import DockerRegistry
from ingot.images.digest import Digest
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Manifest, encode
from ingot.images.registry.settings import Settings

ROUNDS = 5
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the clock, and of the CPUs in all processes that did the work."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class World:
    """A registry with the disk `disk` in it, under `gzip`, and room for what is made of it."""

    disk: Path
    directory: Path
    registry: str
    gzip: str


@contextmanager
def world() -> Iterator[World]:
    """The Debian disk as a qcow2 in a gzip layer, as `docker build` makes it, in a real registry."""
    disk = debian_disk()
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as made, DockerRegistry() as server:
        directory = Path(made)
        reference = Reference.parse(f"{server.host}/bench/debian:gzip")
        _push_gzip(disk, directory, reference)
        yield World(disk, directory, server.host, str(reference))


def compare(world: World, reference: str) -> tuple[Cost, Cost]:
    """The medians of `ingot image pull` of the reference, and of the three tools with the gzip layer, in turn."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(_measured(world, lambda: _by_hand(world)))
        ours.append(_measured(world, lambda: _by_ingot(world, reference)))
    return _median(ours), _median(theirs)


def _by_ingot(world: World, reference: str) -> Path:
    made = world.directory / "ours.raw"
    # A cache of its own, so that every round is the first one.
    environment = {**os.environ, "INGOT_CACHE": str(world.directory / "cache")}
    _run([str(Path(sys.executable).with_name("ingot")), "image", "pull", reference, str(made)], environment)
    return made


def _by_hand(world: World) -> Path:
    work = world.directory / "theirs"
    work.mkdir()
    pulled, unpacked, made = work / "image", work / "unpacked", work / "disk.raw"
    unpacked.mkdir()
    _run(["skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{world.gzip}", f"dir:{pulled}"])
    layer = max(pulled.iterdir(), key=lambda path: path.stat().st_size)
    _run(["tar", "-xzf", str(layer), "-C", str(unpacked)])
    _run(["qemu-img", "convert", "-O", "raw", str(unpacked / "disk" / "disk.qcow2"), str(made)])
    return made


def _measured(world: World, work: Callable[[], Path]) -> Cost:
    """What the work costs, whose result must be the disk, byte for byte."""
    os.sync()
    used, began = cpu.of_children(), time.monotonic()
    made = work()
    cost = Cost(time.monotonic() - began, cpu.of_children() - used)
    if not filecmp.cmp(made, world.disk, shallow=False):
        raise RuntimeError(f"{made} is not {world.disk}")
    for leftover in world.directory.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    return cost


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment)


def _push_gzip(disk: Path, directory: Path, reference: Reference) -> None:
    """Puts the disk into the registry as an image that ordinary tools could have made."""
    folder, layer = directory / "disk", directory / "layer.tar.gz"
    folder.mkdir()
    _run(["qemu-img", "convert", "-O", "qcow2", str(disk), str(folder / "disk.qcow2")])
    with layer.open("wb") as file:
        tar = subprocess.Popen(["tar", "-C", directory, "-cf", "-", "disk"], stdout=subprocess.PIPE)
        subprocess.run(["gzip", "-6"], stdin=tar.stdout, stdout=file, check=True)
        if tar.wait():
            raise RuntimeError("tar failed")
    unpacked = subprocess.run(f"gzip -dc {layer} | sha256sum", shell=True, check=True, capture_output=True)  # noqa: S602
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{unpacked.stdout.decode()[:64]}"]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    with Registry(Settings()) as registry:
        pushed = registry.push_blob(reference, _pieces(layer), media_type=_LAYER, digest=_digest(layer))
        made = registry.push_blob(reference, [config], media_type=OCI_CONFIG, digest=Digest.of(config))
        registry.push_manifest(reference, encode(Manifest(config=made, layers=[pushed])), OCI_MANIFEST)
    shutil.rmtree(folder)
    layer.unlink()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _digest(path: Path) -> Digest:
    with path.open("rb") as file:
        return Digest("sha256", hashlib.file_digest(file, "sha256").hexdigest())
