"""Imports from real servers into real files, volumes and devices."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from images.servers.faulty import Asked, FaultyServer, RangeHandler, answer
from images.test_image_push import push
from ingot.images.fault import ImageFault
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.pipeline.target import FileTarget
from ingot.images.push import PushOptions
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

SIZE = 6 << 20
QUICK = Settings(tries=2, backoff=0.01, patience=3.0)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("import") / "disk.raw"
    noise = random.Random(11)  # noqa: S311
    with path.open("wb") as file:
        for start in (0, 1 << 20, 3 << 20):
            file.seek(start)
            file.write(noise.randbytes(700_000))
        file.truncate(SIZE)
    return path


def _import(source: str, target: Path, **options: Any) -> Imported:
    return import_image(Source.parse(source), target, ImportOptions(settings=QUICK, **options), lambda *_: None)


def _pull(*words: object, stdin: int | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ingot", "image", "pull", *map(str, words)]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _only(directory: Path, *names: str) -> None:
    assert sorted(each.name for each in directory.iterdir()) == sorted(names)


def _web(content: bytes, ranges: bool) -> RangeHandler:
    """A file behind HTTP."""

    def whole(asked: Asked, client: socket.socket) -> bool:
        if not ranges:
            answer(client, 200, content, etag='"one"')
        return not ranges

    return RangeHandler(content, before=whole)


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("packed", [False, True])
def test_from_the_web(tmp_path: Path, disk: Path, ranges: bool, packed: bool) -> None:
    content = gzip.compress(disk.read_bytes(), 1) if packed else disk.read_bytes()
    with FaultyServer(_web(content, ranges)) as server:
        imported = _import(f"{server.url}/disk.img", tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()
    assert imported.fetched >= len(content)
    _only(tmp_path, "disk")


@pytest.mark.parametrize("ranges", [True, False])
def test_the_checksum_of_a_file_in_the_web(tmp_path: Path, disk: Path, ranges: bool) -> None:
    digest = hashlib.sha256(disk.read_bytes()).hexdigest()
    with FaultyServer(_web(disk.read_bytes(), ranges)) as server:
        with pytest.raises(ImageFault) as caught:
            _import(f"{server.url}/disk.img", tmp_path / "disk", checksum=f"sha256:{'0' * 64}")
        assert caught.value.reason == "WrongDigest"
        _only(tmp_path)
        _import(f"{server.url}/disk.img", tmp_path / "disk", checksum=f"sha256:{digest}")
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def test_a_file_in_the_web_that_changes_makes_nothing(tmp_path: Path, disk: Path) -> None:
    web = RangeHandler(disk.read_bytes())

    def change(asked: Asked, client: socket.socket) -> bool:
        web.etag = '"one"' if asked.number < 3 else '"two"'
        return False

    web.before = change
    with FaultyServer(web) as server, pytest.raises(ImageFault, match="replaced") as caught:
        _import(f"{server.url}/disk.img", tmp_path / "disk")
    assert caught.value.reason == "Changed"
    _only(tmp_path)


def test_a_file_in_the_web_without_a_version_is_read_at_once(tmp_path: Path) -> None:
    """Ranges of it might be of two versions, and nobody could tell."""
    content = os.urandom(9 << 20)
    web = RangeHandler(content, etag="")

    def change(asked: Asked, client: socket.socket) -> bool:
        web.data = content if asked.number < 2 else os.urandom(len(content))
        return False

    web.before = change
    with FaultyServer(web) as server:
        imported = _import(f"{server.url}/disk.img", tmp_path / "disk")
    assert len(server.asked) == 2
    assert imported.identity == ""
    assert (tmp_path / "disk").read_bytes() == content


def test_a_server_that_forgets_the_version_makes_nothing(tmp_path: Path, disk: Path) -> None:
    web = RangeHandler(disk.read_bytes())

    def forget(asked: Asked, client: socket.socket) -> bool:
        if known := asked.number < 3:
            return not known
        first, last = asked.range or (0, SIZE - 1)
        answer(client, 206, web.data[first : last + 1], content_range=f"bytes {first}-{last}/{SIZE}")
        return True

    web.before = forget
    with FaultyServer(web) as server, pytest.raises(ImageFault, match="ETag any more") as caught:
        _import(f"{server.url}/disk.img", tmp_path / "disk")
    assert caught.value.reason == "Changed"
    _only(tmp_path)


@pytest.mark.parametrize(("chunk", "slow"), [(128 << 10, False), (512 << 10, True)])
def test_large_chunks_are_fetched_once(
    registry: Registry,
    repository: Callable[[], Reference],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
    slow: bool,
) -> None:
    """They begin and end within the units that are copied, of which several threads take one each on a slow line."""
    size = 8 << 20
    (tmp_path / "noise").write_bytes(os.urandom(size))
    monkeypatch.setattr("ingot.images.zstd_chunked.writer._MOST_CHUNKS", 2 * size // chunk)
    reference = repository()
    pushed = push(registry, tmp_path / "noise", reference)
    if slow:
        monkeypatch.setattr("ingot.images.pipeline.copier._TURN_SECONDS", 0)
    imported = _import(str(reference), tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == (tmp_path / "noise").read_bytes()
    assert size <= imported.fetched <= 1.02 * pushed.layer.size


def test_secrets_of_an_address_are_not_told(tmp_path: Path, disk: Path) -> None:
    with FaultyServer(RangeHandler(b"QFI\xfb" + bytes(1 << 20))) as server:
        with pytest.raises(ImageFault) as caught:
            _import(f"{server.url}/bad.qcow2?key=SECRET", tmp_path / "disk")
        assert "SECRET" not in str(caught.value)
    with FaultyServer(RangeHandler(disk.read_bytes())) as server:
        found = [_import(f"{server.url}/disk?key={key}", tmp_path / key).identity for key in ("SECRET", "other")]
    assert not any("SECRET" in identity for identity in found)
    assert found[0] != found[1]


def test_a_server_that_goes_away_leaves_something_to_go_on_with(tmp_path: Path) -> None:
    content = os.urandom(24 << 20)
    away = True

    def go(asked: Asked, client: socket.socket) -> bool:
        if gone := away and asked.number > 4:
            client.shutdown(socket.SHUT_RDWR)
        return gone

    with FaultyServer(RangeHandler(content, before=go)) as server:
        url = f"{server.url}/disk.img"
        with pytest.raises(ImageFault) as caught:
            _import(url, tmp_path / "disk")
        assert caught.value.retry
        _only(tmp_path, ".disk.ingot-part", ".disk.ingot-journal")
        away = False
        imported = _import(url, tmp_path / "disk")
    assert imported.resumed_from > 0
    assert len(content) <= imported.fetched + imported.resumed_from <= len(content) + (1 << 16)
    assert (tmp_path / "disk").read_bytes() == content


@pytest.mark.parametrize("status", [401, 403, 404, 409])
def test_a_server_that_refuses_on_the_way_leaves_something_to_go_on_with(tmp_path: Path, status: int) -> None:
    content = os.urandom(24 << 20)
    first = 6

    def refuse(asked: Asked, client: socket.socket) -> bool:
        if refused := asked.number > first:
            answer(client, status)
        return refused

    with FaultyServer(RangeHandler(content, before=refuse)) as server:
        url = f"{server.url}/disk.img"
        with pytest.raises(ImageFault) as caught:
            _import(url, tmp_path / "disk")
        assert not caught.value.retry
        _only(tmp_path, ".disk.ingot-part", ".disk.ingot-journal")
        first = 1 << 20
        imported = _import(url, tmp_path / "disk")
    assert imported.resumed_from > 0
    assert (tmp_path / "disk").read_bytes() == content


def test_a_server_that_refuses_at_once_leaves_nothing(tmp_path: Path) -> None:
    def refuse(asked: Asked, client: socket.socket) -> bool:
        if refused := asked.range != (0, 0) and asked.number > 1:
            answer(client, 403)
        return refused

    with FaultyServer(RangeHandler(os.urandom(4 << 20), before=refuse)) as server, pytest.raises(ImageFault) as caught:
        _import(f"{server.url}/disk.img", tmp_path / "disk")
    assert caught.value.reason == "Denied"
    _only(tmp_path)


def test_from_a_registry(tmp_path: Path, disk: Path, registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    pushed = push(registry, disk, reference)
    with pytest.raises(ImageFault, match="its manifest is"):
        _import(str(reference), tmp_path / "disk", checksum=f"sha256:{'0' * 64}")
    with pytest.raises(ImageFault) as caught:
        _import(str(reference), tmp_path / "disk", limit=1 << 20)
    assert caught.value.reason == "TooLarge"
    _only(tmp_path)
    imported = _import(str(reference), tmp_path / "disk", checksum=str(pushed.manifest))
    assert imported.fetched < SIZE
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def test_the_checksum_of_an_image(
    tmp_path: Path, disk: Path, registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference = repository()
    pushed = push(registry, disk, reference, PushOptions(index=True))
    for number, checksum in enumerate((str(pushed.digest), f"sha256:{pushed.manifest.hex.upper()}")):
        _import(str(reference), tmp_path / f"disk{number}", checksum=checksum)
    with pytest.raises(ImageFault, match=f"its manifest is {pushed.manifest}, and its index {pushed.digest}, and not"):
        _import(str(reference), tmp_path / "disk", checksum=f"sha256:{'0' * 64}")
    for checksum in ("junk", f"md5:{'0' * 32}"):
        with pytest.raises(ImageFault, match="sha256: or sha512: and its hexadecimal digits are accepted"):
            _import(str(reference), tmp_path / "disk", checksum=checksum)


def test_a_reference_that_is_not_there(tmp_path: Path, repository: Callable[[], Reference]) -> None:
    process = _pull(repository(), tmp_path / "disk")
    _, said = process.communicate()
    assert process.returncode == 1
    assert said.decode().startswith("Error: ")
    assert said.decode().count("\n") == 1
    _only(tmp_path)


def test_from_nbd(tmp_path: Path, disk: Path) -> None:
    path, ready = tmp_path / "nbd", tmp_path / "ready"
    server = subprocess.Popen(["nbdkit", "-f", "-r", "-U", path, "-P", ready, "file", disk])
    try:
        while not ready.exists():
            assert server.poll() is None
            time.sleep(0.01)
        imported = _import(f"nbd+unix:///?socket={path}", tmp_path / "disk")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    assert imported.fetched < SIZE
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def test_from_standard_input(tmp_path: Path, disk: Path) -> None:
    process = _pull("-", tmp_path / "disk", "-o", "json", stdin=subprocess.PIPE)
    said, wrong = process.communicate(gzip.compress(disk.read_bytes(), 1))
    assert process.returncode == 0, wrong
    assert json.loads(said)["size"] == SIZE
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()
    _only(tmp_path, "disk")


def test_what_cannot_go_on_later_says_so(tmp_path: Path, disk: Path) -> None:
    process = _pull("-", tmp_path / "disk", stdin=subprocess.PIPE)
    _, wrong = process.communicate(gzip.compress(disk.read_bytes(), 1)[:-100_000])
    assert process.returncode == 1
    assert b"has to begin anew" in wrong
    process = _pull("-", tmp_path / "disk", stdin=subprocess.PIPE)
    _, wrong = process.communicate(b"QFI\xfb" + bytes(1 << 20))
    assert process.returncode == 1
    assert b"begin anew" not in wrong
    _only(tmp_path)


def test_an_nbd_server_that_goes_away_is_begun_anew(tmp_path: Path) -> None:
    path, ready, large = tmp_path / "nbd", tmp_path / "ready", tmp_path / "large"
    large.write_bytes(os.urandom(64 << 20))
    where = ["-U", str(path), "-P", str(ready)]
    server = subprocess.Popen(["nbdkit", "-f", "-r", *where, "--filter=rate", "file", large, "rate=160M"])
    try:
        while not ready.exists():
            assert server.poll() is None
            time.sleep(0.01)

        def go(done: int, total: int) -> None:
            if done:
                server.kill()

        source = Source.parse(f"nbd+unix:///?socket={path}")
        with pytest.raises(ImageFault, match="has to begin anew") as caught:
            import_image(source, tmp_path / "disk", ImportOptions(), go)
    finally:
        server.kill()
        server.wait()
    assert caught.value.retry
    _only(tmp_path, "nbd", "large", "ready")


def test_the_second_of_two_at_once_is_refused(tmp_path: Path, disk: Path) -> None:
    first = _pull("-", tmp_path / "disk", stdin=subprocess.PIPE)
    while not (tmp_path / ".disk.ingot-part").exists():
        time.sleep(0.01)
    second = _pull(disk, tmp_path / "disk")
    _, said = second.communicate()
    assert second.returncode == 1
    assert b"another import writes to it" in said
    assert first.communicate(disk.read_bytes())[1] == b""
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def _needs_root() -> None:
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("mounts and loop devices need root, and losetup of mount")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A volume with room for 2 MiB."""
    _needs_root()
    volume = tmp_path / "volume"
    volume.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", volume], check=True)
    yield volume
    subprocess.run(["umount", volume], check=True)


@pytest.mark.parametrize("packed", [False, True])
def test_a_full_volume_gets_its_room_back(tmp_path: Path, small: Path, disk: Path, packed: bool) -> None:
    source = tmp_path / "image"
    source.write_bytes(gzip.compress(disk.read_bytes(), 1) if packed else disk.read_bytes())
    (small / "kept").write_bytes(b"kept")
    before = os.statvfs(small).f_bavail
    with pytest.raises(ImageFault, match=r"make room for \d+ bytes") as caught:
        _import(str(source), small / "disk")
    assert caught.value.reason == "DiskFull"
    assert os.statvfs(small).f_bavail == before
    _only(small, "kept")


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A block device of 8 MiB with another disk's bytes all over it."""
    _needs_root()
    backing = tmp_path / "backing"
    backing.write_bytes(b"\xaa" * (8 << 20))
    made = subprocess.run(["losetup", "-f", "--show", backing], check=True, capture_output=True, text=True)
    path = Path(made.stdout.strip())
    yield path
    subprocess.run(["losetup", "-d", path], check=True)


def test_a_device_has_the_disk_and_zeros_behind_it(tmp_path: Path, device: Path, disk: Path) -> None:
    state = tmp_path / "state"
    image = tmp_path / "image.gz"
    image.write_bytes(gzip.compress(disk.read_bytes(), 1))
    imported = _import(str(image), device, state=state)
    assert imported.size == SIZE
    assert device.read_bytes() == disk.read_bytes() + bytes((8 << 20) - SIZE)
    again = _import(str(image), device, state=state)
    assert (again.size, again.fetched) == (SIZE, 0)


def test_a_device_with_another_whole_disk_is_written_by_force_only(tmp_path: Path, device: Path, disk: Path) -> None:
    state, other = tmp_path / "state", tmp_path / "other"
    other.write_bytes(b"other" * 4096)
    _import(str(disk), device, state=state)
    before = device.read_bytes()
    with pytest.raises(ImageFault, match="it holds another image, which is complete: use --force"):
        _import(str(other), device, state=state)
    assert device.read_bytes() == before
    _import(str(other), device, state=state, replace=True)
    assert device.read_bytes().startswith(other.read_bytes() + bytes(1 << 20))


@pytest.mark.parametrize("replace", [False, True])
def test_a_device_that_is_another_one_is_written(
    tmp_path: Path, device: Path, disk: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    """A blank disk comes under the same number; or the same one is to be written again."""
    monkeypatch.setattr("ingot.images.pipeline.copier.SAVE_SECONDS", 0.0)
    options = {"state": tmp_path / "state", "replace": replace}
    _import(str(disk), device, **options)
    if not replace:
        subprocess.run(["losetup", "-d", device], check=True)
        (tmp_path / "backing").write_bytes(b"\xbb" * (8 << 20))
        subprocess.run(["losetup", device, tmp_path / "backing"], check=True)
    else:
        device.write_bytes(b"\xbb" * (8 << 20))
    assert _import(str(disk), device, **options).fetched > 0
    assert device.read_bytes() == disk.read_bytes() + bytes((8 << 20) - SIZE)


def test_what_is_cleared_of_a_device_is_zeros_and_nothing_else(device: Path) -> None:
    expected = bytearray(b"\xaa" * (8 << 20))
    ranges = [(5, 100), (4000, 70_001), (1 << 20, 2 << 20), ((8 << 20) - 5000, 1 << 62)]
    descriptor = os.open(device, os.O_RDWR | os.O_EXCL)
    target = FileTarget(descriptor)
    target.clear(ranges)
    target.sync()
    target.close()
    os.close(descriptor)
    for start, end in ranges:
        expected[start:end] = bytes(min(end, len(expected)) - start)
    assert device.read_bytes() == expected


def test_the_state_of_devices_must_be_ours(tmp_path: Path, device: Path, disk: Path) -> None:
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", 65534, 65534)
    with pytest.raises(ImageFault, match="belongs to user 65534") as caught:
        _import(str(disk), device, state=tmp_path / "state")
    assert caught.value.subject == str(tmp_path / "state")


def test_a_device_that_is_too_small_or_in_use_is_left_alone(tmp_path: Path, device: Path, disk: Path) -> None:
    large = tmp_path / "large.raw"
    with large.open("wb") as file:
        file.write(b"large")
        file.truncate((8 << 20) + 512)
    for options, why in (
        ({}, "at most 8388608 fit"),
        ({"size": 9 << 20}, "room for"),
        ({"format": "qcow2"}, "raw disk"),
    ):
        with pytest.raises(ImageFault, match=why):
            _import(str(large), device, state=tmp_path / "state", **options)
    holder = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        with pytest.raises(ImageFault, match="had alone") as caught:
            _import(str(disk), device, state=tmp_path / "state")
    finally:
        os.close(holder)
    assert caught.value.reason == "InUse"
    assert device.read_bytes() == b"\xaa" * (8 << 20)
