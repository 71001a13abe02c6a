"""Imports that are killed, again and again, at any moment: the next one goes on, and the disk is right in the end."""

from __future__ import annotations

import functools
import gzip
import io
import json
import lzma
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lz4.frame  # type: ignore[import-untyped]
import pytest
from backports import zstd

from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.images.digest import Digest
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Manifest, encode

SIZE = 36 << 20
# So slow that each thread has as little under way as it may.
RATE = 4e6
KILLS = 4
# How much comes before a kill, from the very start on.
STEP = 4 << 20
# What may be lost of it: four units that were under way, and what came since the journal was written last.
LOST = 5 << 19
# The same of a qcow2, which is written in larger pieces.
QCOW2_KILLS, QCOW2_STEP, QCOW2_LOST = 2, 10 << 20, 17 << 19
# What one frame, or one xz stream, holds: it comes in a quarter of a second, in which one checkpoint is noted.
FRAME, FRAME_KILLS, FRAME_STEP = 1 << 20, 2, 4 << 20
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstd.compress,
    "xz": functools.partial(lzma.compress, preset=0),
    "lz4": lz4.frame.compress,
}
# The command, with all that is noted brought to the disk, as on a line on which places to go on come seldom.
SYNCED = """
from ingot.cli.main import main
from ingot.images.pipeline import copier, pour
copier.SYNC_SECONDS = pour.SYNC_SECONDS = 0.0
main()
"""
GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Noise, which no compression makes smaller, with holes in it."""
    path = tmp_path_factory.mktemp("resume") / "disk.raw"
    with path.open("wb") as file:
        for start in range(0, SIZE, 4 << 20):
            file.seek(start + (start >> 3))
            file.write(os.urandom(4 << 20))
    return path


@pytest.fixture
def proxy(docker_registry: DockerRegistry) -> Iterator[LimitedProxy]:
    with LimitedProxy(docker_registry.port, RATE) as limited:
        yield limited


def _gzip_layer(disk: Path) -> bytes:
    image = disk.with_suffix(".qcow2")
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, image], check=True)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(image, "disk/disk.qcow2")
    return gzip.compress(buffer.getvalue(), 1)


def _push_gzip(registry: Registry, disk: Path, reference: Reference) -> str:
    layer = _gzip_layer(disk)
    config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
    pushed = registry.push_blob(reference, [layer], media_type=GZIP, digest=Digest.of(layer))
    made = registry.push_blob(reference, [config], media_type=OCI_CONFIG, digest=Digest.of(config))
    registry.push_manifest(reference, encode(Manifest(config=made, layers=[pushed])), OCI_MANIFEST)
    return f"{reference.repository}:{reference.tag}"


def _push_own(registry: Registry, disk: Path, reference: Reference) -> str:
    content = open_disk(disk)
    push_disk(registry, content, reference, PushOptions())
    content.close()
    return f"{reference.repository}:{reference.tag}"


def _push_raw(registry: Registry, disk: Path, reference: Reference) -> str:
    return _push_bytes(registry, disk.read_bytes(), reference)


def _push_bytes(registry: Registry, content: bytes, reference: Reference) -> str:
    pushed = registry.push_blob(reference, [content], media_type="application/octet-stream")
    return f"/v2/{reference.repository}/blobs/{pushed.digest}"


def _pull(
    source: str, target: Path, *options: str, home: Path | None = None, synced: bool = False
) -> subprocess.Popen[str]:
    # A shell's background jobs, and so these tests in one, are started with SIGINT ignored.
    begin = ["env", "--default-signal=INT", sys.executable, *(("-c", SYNCED) if synced else ("-m", "ingot"))]
    command = [*begin, "image", "pull", source, str(target), "-o", "json", *options]
    # Homes have settings and credentials.
    place = str(home or target.parent)
    environment = {**os.environ, "HOME": place, "XDG_CONFIG_HOME": place, "XDG_STATE_HOME": place}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _kill(process: subprocess.Popen[str], proxy: LimitedProxy, journal: Path, step: int = STEP) -> bool:
    """Kills the process as _stop does; whether it was there to be killed."""
    _stop(process, proxy, journal, signal.SIGKILL, step)
    return process.returncode == -signal.SIGKILL


def _stop(
    process: subprocess.Popen[str], proxy: LimitedProxy, journal: Path, by: signal.Signals, step: int = STEP
) -> str:
    """Ends the process when `step` bytes have come and something of them is noted; what it said."""
    before, noted, until = proxy.sent, _noted(journal), time.monotonic() + 30
    proxy.hold_after(step)
    # Those of a process that is gone may take a little of what the next one is given.
    most = step - (step >> 3)
    while process.poll() is None and (proxy.sent - before < most or _noted(journal) == noted):
        assert time.monotonic() < until, f"{proxy.sent - before} bytes have come, and nothing is noted of them"
        time.sleep(0.002)
    process.send_signal(by)
    # Threads that read are waited for, where that is possible.
    proxy.hold_after(math.inf)
    return process.communicate()[1]


def _noted(journal: Path) -> int:
    return journal.stat().st_mtime_ns if journal.exists() else 0


def _finish(process: subprocess.Popen[str], proxy: LimitedProxy) -> dict[str, int]:
    """What an import tells that is let run to its end."""
    proxy.limit(0)
    proxy.hold_after(math.inf)
    said, wrong = process.communicate()
    assert process.returncode == 0, wrong
    told: dict[str, int] = json.loads(said)
    return told


@pytest.mark.parametrize(
    ("push", "options", "kills", "step", "lost"),
    [
        (_push_gzip, (), KILLS, STEP, LOST),
        (_push_own, (), KILLS, STEP, LOST),
        (_push_own, ("--format", "qcow2"), QCOW2_KILLS, QCOW2_STEP, QCOW2_LOST),
        (_push_raw, (), KILLS, STEP, LOST),
    ],
    ids=["gzip", "chunked", "chunked to qcow2", "http"],
)
def test_goes_on_after_kills(
    tmp_path: Path,
    registry: Registry,
    repository: Callable[[], Reference],
    disk: Path,
    proxy: LimitedProxy,
    push: Callable[[Registry, Path, Reference], str],
    options: tuple[str, ...],
    kills: int,
    step: int,
    lost: int,
) -> None:
    place = push(registry, disk, repository())
    source = f"http://{proxy.host}{place}" if place.startswith("/") else f"{proxy.host}/{place}"
    target, journal = tmp_path / "disk", tmp_path / ".disk.ingot-journal"
    for _ in range(kills):
        assert _kill(_pull(source, target, *options), proxy, journal, step)
        assert not target.exists()
    assert _finish(_pull(source, target, *options), proxy)["resumedFrom"] > 0
    assert proxy.sent < disk.stat().st_size + kills * lost
    # Beside the list of disks that later imports can have chunks from.
    assert {each.name for each in tmp_path.iterdir()} - {".cache"} == {"disk"}
    if options:
        subprocess.run(["qemu-img", "check", "-q", target], check=True)
        subprocess.run(["qemu-img", "compare", "-q", "-f", "raw", "-F", "qcow2", disk, target], check=True)
    else:
        assert target.read_bytes() == disk.read_bytes()


@pytest.mark.parametrize("name", PACKERS)
def test_goes_on_between_frames(
    tmp_path: Path,
    registry: Registry,
    repository: Callable[[], Reference],
    proxy: LimitedProxy,
    name: str,
) -> None:
    disk = os.urandom(12 * FRAME)
    frames = [PACKERS[name](disk[start : start + FRAME]) for start in range(0, len(disk), FRAME)]
    source = f"http://{proxy.host}{_push_bytes(registry, b''.join(frames), repository())}"
    target, journal = tmp_path / "disk", tmp_path / ".disk.ingot-journal"
    for _ in range(FRAME_KILLS):
        assert _kill(_pull(source, target, synced=True), proxy, journal, FRAME_STEP)
    # Each was killed when it had noted one frame more at least.
    assert _finish(_pull(source, target), proxy)["resumedFrom"] >= FRAME_KILLS * FRAME
    assert target.read_bytes() == disk


def test_goes_on_with_what_was_synced_last(
    tmp_path: Path, registry: Registry, repository: Callable[[], Reference], disk: Path, proxy: LimitedProxy
) -> None:
    """Of a disk whose chunks come in any order."""
    source = f"{proxy.host}/{_push_own(registry, disk, repository())}"
    target, journal = tmp_path / "disk", tmp_path / ".disk.ingot-journal"
    assert _kill(_pull(source, target, synced=True), proxy, journal)
    assert _finish(_pull(source, target), proxy)["resumedFrom"] > 0
    assert target.read_bytes() == disk.read_bytes()


@pytest.mark.parametrize("push", [_push_gzip, _push_own], ids=["gzip", "chunked"])
def test_an_interrupt_tells_where_it_goes_on(
    tmp_path: Path,
    registry: Registry,
    repository: Callable[[], Reference],
    disk: Path,
    proxy: LimitedProxy,
    push: Callable[[Registry, Path, Reference], str],
) -> None:
    source, target = f"{proxy.host}/{push(registry, disk, repository())}", tmp_path / "disk"
    process = _pull(source, target)
    told = _stop(process, proxy, tmp_path / ".disk.ingot-journal", signal.SIGINT)
    assert process.returncode == 1
    found = re.fullmatch(r"Error: interrupted; the same command goes on from ([0-9.]+) MiB\n", told)
    assert found, told
    moved = _finish(_pull(source, target), proxy)["resumedFrom"]
    assert moved / (1 << 20) == pytest.approx(float(found[1]), abs=0.06)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A block device with another disk's bytes all over it."""
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("loop devices need root, and losetup of mount")
    backing = tmp_path / "backing"
    backing.write_bytes(b"\xaa" * (SIZE + (4 << 20)))
    made = subprocess.run(["losetup", "-f", "--show", backing], check=True, capture_output=True, text=True)
    path = Path(made.stdout.strip())
    yield path
    subprocess.run(["losetup", "-d", path], check=True)


@pytest.mark.parametrize("push", [_push_gzip, _push_own], ids=["gzip", "chunked"])
def test_goes_on_after_kills_on_a_device(
    tmp_path: Path,
    registry: Registry,
    repository: Callable[[], Reference],
    disk: Path,
    proxy: LimitedProxy,
    device: Path,
    push: Callable[[Registry, Path, Reference], str],
) -> None:
    source = f"{proxy.host}/{push(registry, disk, repository())}"
    number = device.stat().st_rdev
    name = f"device-{os.major(number)}-{os.minor(number)}.ingot-journal"
    journal = tmp_path / "ingot/imports" / name
    for _ in range(KILLS):
        assert _kill(_pull(source, device, home=tmp_path), proxy, journal)
    assert _finish(_pull(source, device, home=tmp_path), proxy)["resumedFrom"] > 0
    expected = disk.read_bytes()
    assert device.read_bytes() == expected.ljust(SIZE + (4 << 20), b"\0")
    again, _ = _pull(source, device, home=tmp_path).communicate()
    assert json.loads(again)["written"] == 0
