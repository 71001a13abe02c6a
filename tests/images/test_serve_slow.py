"""`ingot serve` of what takes long to open: it holds up no other export, is told, and can be removed."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from images.servers.faulty import FaultyServer, RangeHandler
from images.servers.limited import limited
from images.servers.serving import INGOT, Serving, wait_for
from ingot.images.content import read
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Manifest, encode

_SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(_SIZE))
    return path


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """The web server answers once it is set."""
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
def web(disk: Path, gate: threading.Event) -> Iterator[FaultyServer]:
    def before(_asked: Any, _client: Any) -> bool:
        gate.wait(60)
        return False

    with FaultyServer(RangeHandler(disk.read_bytes(), before=before)) as server:
        yield server
        gate.set()


def _ingot(server: Serving, *words: str) -> str:
    command = [INGOT, "serve", *words, "--control", str(server.control)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


def _told(server: Serving) -> dict[str, dict[str, Any]]:
    exports = json.loads(_ingot(server, "ls", "--output", "json"))["exports"]
    return {export["name"]: export for export in exports}


def _options(tmp_path: Path, *exports: str) -> tuple[str, ...]:
    named = (word for export in exports for word in ("--export", export))
    return (*named, "--cache", str(tmp_path / "cache"), "--control", str(tmp_path / "control"))


def test_an_add_that_waits_holds_up_nobody_and_can_be_taken_back(disk: Path, web: FaultyServer, tmp_path: Path) -> None:
    with Serving(tmp_path, *_options(tmp_path, f"disk={disk}")) as server:
        command = [INGOT, "serve", "add", f"slow={web.url}/disk", "--control", str(server.control)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as adding:
            wait_for(lambda: "slow" in _told(server))
            assert _told(server)["slow"]["state"] == "preparing"
            _ingot(server, "add", f"other={disk}")
            _ingot(server, "rm", "other")
            server.kill_worker()
            with server.content("disk") as content:
                assert read(content, 0, _SIZE) == disk.read_bytes()
            _ingot(server, "add", f"other={disk}")
            assert adding.wait(30) == 1
            assert adding.stderr is not None
            assert "has ended; try again" in adding.stderr.read()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as adding:
            wait_for(lambda: "slow" in _told(server))
            _ingot(server, "rm", "slow")
            assert adding.wait(30) == 1
            assert adding.stderr is not None
            assert "removed before it could be served" in adding.stderr.read()
        assert sorted(_told(server)) == ["disk", "other"]


def test_what_takes_long_at_the_start_is_served_when_it_is_ready(
    disk: Path, web: FaultyServer, gate: threading.Event, tmp_path: Path
) -> None:
    options = _options(tmp_path, f"slow={web.url}/disk", f"disk={disk}")
    with Serving(tmp_path, *options, "--plain", "slow") as server:
        with server.content("disk") as content:
            assert read(content, 0, _SIZE) == disk.read_bytes()
        assert {name: told["state"] for name, told in _told(server).items()} == {"slow": "preparing", "disk": "ready"}
        gate.set()
        wait_for(lambda: _told(server)["slow"]["state"] == "ready")
        assert _told(server)["slow"]["size"] == _SIZE
        with server.content("slow") as content:
            assert read(content, 0, _SIZE) == disk.read_bytes()


def test_a_client_that_waits_for_a_silent_server_holds_up_no_change(
    disk: Path, web: FaultyServer, gate: threading.Event, tmp_path: Path
) -> None:
    gate.set()
    options = _options(tmp_path, f"slow={web.url}/disk")
    with Serving(tmp_path, *options, "--plain", "slow", "--grace", "60") as server:
        gate.clear()
        reading = ["nbdcopy", server.uri("slow"), "null:"]
        removing = [INGOT, "serve", "rm", "slow", "--control", str(server.control)]
        with subprocess.Popen(reading, stderr=subprocess.DEVNULL):
            wait_for(lambda: _told(server)["slow"]["connections"] > 0)
            with subprocess.Popen(removing, stdout=subprocess.DEVNULL) as command:
                wait_for(lambda: not _told(server))
                # Also under the same name, whose own clients stay.
                _ingot(server, "add", f"slow={disk}")
                with server.content("slow") as content:
                    assert command.poll() is None
                    gate.set()
                    assert command.wait(30) == 0
                    assert read(content, 0, _SIZE) == disk.read_bytes()


def _tar(disk: Path) -> bytes:
    path = disk.with_name("layer.tar")
    with tarfile.open(path, "w") as archive:
        archive.add(disk, "disk/disk.raw")
    return path.read_bytes()


def _push(registry: Registry, reference: Reference, layer: bytes, compression: str) -> Reference:
    config = registry.push_blob(reference, [b"{}"], media_type=OCI_CONFIG)
    pushed = registry.push_blob(reference, [layer], media_type=f"application/vnd.oci.image.layer.v1.tar+{compression}")
    registry.push_manifest(reference, encode(Manifest(config=config, layers=[pushed])), OCI_MANIFEST)
    return reference


@pytest.fixture
def foreign(registry: Registry, repository: Callable[[], Reference], disk: Path) -> Reference:
    """A disk in a gzip layer, as other tools make it."""
    return _push(registry, repository(), gzip.compress(_tar(disk), 1), "gzip")


def test_what_cannot_be_lazy_is_not_fetched_for_nothing_again(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    disk.write_bytes(os.urandom(6 * _SIZE))
    image = _push(registry, repository(), zstd.compress(_tar(disk), 1), "zstd")
    with limited(int(image.registry.rpartition(":")[2]), rate=_SIZE / 2) as proxy:
        source = f"docker://{proxy.host}/{image.repository}:{image.tag}"
        with Serving(tmp_path, *_options(tmp_path, f"frame={source}")) as server:
            wait_for(lambda: _told(server)["frame"]["state"] == "failed", 60)
            assert "is not tried again before it is removed and added" in server.log
            fetched = proxy.sent
            assert fetched < 5 * _SIZE
            for _ in range(3):
                with pytest.raises(ImageFault):
                    server.content("frame")
            assert proxy.sent < fetched + (1 << 20)
            proxy.limit(0)
            _ingot(server, "rm", "frame")
            command = [INGOT, "serve", "add", f"frame={source}", "--control", str(server.control)]
            again = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert again.returncode == 1
            assert "it is compressed in one frame" in again.stderr
            assert proxy.sent > fetched


def test_how_much_of_a_foreign_image_is_here_is_told(foreign: Reference, disk: Path, tmp_path: Path) -> None:
    with limited(int(foreign.registry.rpartition(":")[2]), rate=_SIZE / 6) as proxy:
        source = f"docker://{proxy.host}/{foreign.repository}:{foreign.tag}"
        with Serving(tmp_path, *_options(tmp_path, f"foreign={source}", f"disk={disk}")) as server:
            with server.content("disk") as content:
                assert read(content, 0, _SIZE) == disk.read_bytes()
            told = _told(server)["foreign"]
            assert told["state"] == "preparing"
            assert 0 < told["progress"]["done"] < told["progress"]["whole"]
            assert "preparing, " in _ingot(server, "ls")
            wait_for(lambda: _told(server)["foreign"]["state"] == "ready", 30)
            with server.content("foreign") as content:
                assert read(content, 0, _SIZE) == disk.read_bytes()
