"""`ingot serve` of images in a registry and of files behind URLs: fetched as they are read."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from images.servers.faulty import FaultyServer, RangeHandler
from images.servers.serving import INGOT, Serving
from ingot.images.cache import Cache
from ingot.images.content import FileContent, read
from ingot.images.lazy.budget import CREDIT
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Platform

_MIB = 1 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 MiB, the first eight and the last one of them noise."""
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    with path.open("wb") as file:
        file.write(os.urandom(8 * _MIB))
        file.seek(15 * _MIB)
        file.write(os.urandom(_MIB))
    return path


@pytest.fixture(scope="module")
def qcow2(disk: Path) -> Path:
    path = disk.with_name("disk.qcow2")
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, path], check=True)
    return path


def _told(server: Serving) -> dict[str, Any]:
    command = [INGOT, "serve", "ls", "--output", "json", "--control", str(server.control)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def _standing(server: Serving) -> dict[str, Any]:
    (export,) = _told(server)["exports"]
    return dict(export)


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class TestRegistries:
    @pytest.fixture
    def pushed(self, registry: Registry, repository: Callable[[], Reference], disk: Path) -> Reference:
        reference = repository()
        with FileContent(disk) as content:
            push_disk(registry, content, reference, PushOptions())
        return reference

    def test_the_image_for_another_platform(
        self, registry: Registry, repository: Callable[[], Reference], disk: Path, qcow2: Path, tmp_path: Path
    ) -> None:
        reference, control = repository(), tmp_path / "control"
        for path, architecture in ((disk, "amd64"), (qcow2, "arm64")):
            with FileContent(path) as content:
                push_disk(registry, content, reference, PushOptions(Platform(architecture, "linux"), index=True))
        wanted = ("--platform", "linux/arm64")
        cache = ("--cache", str(tmp_path / "cache"), "--control", str(control))
        with Serving(tmp_path, "--export", f"other={reference}", "--export", f"file={disk}", *wanted, *cache) as server:
            adding = [INGOT, "serve", "add", "--control", str(control)]
            subprocess.run([*adding, f"amd64={reference}", "--platform", "linux/amd64"], check=True)
            for name, path in (("other", qcow2), ("file", disk), ("amd64", disk)):
                with server.content(name) as content:
                    assert read(content, 0, 4096) == path.read_bytes()[:4096]
            refused = subprocess.run([*adding, f"another={disk}", *wanted], capture_output=True, text=True)
        assert "only images in registries are chosen by --platform" in refused.stderr
        nothing = subprocess.run([INGOT, "serve", "--export", f"x={disk}", *wanted], capture_output=True, text=True)
        assert "--platform is for exports of images in registries, and there is none" in nothing.stderr

    def test_an_image_is_read_lazily(self, pushed: Reference, disk: Path, tmp_path: Path) -> None:
        options = ("--export", f"disk=docker://{pushed}", "--cache", str(tmp_path / "cache"))
        with Serving(tmp_path, *options, "--control", str(tmp_path / "control")) as server:
            with server.content("disk") as content:
                assert content.size == 16 * _MIB
                assert read(content, 15 * _MIB, 4096) == disk.read_bytes()[15 * _MIB :][:4096]
            # What was asked for, and what is guessed at a start.
            assert 0 < _standing(server)["fetched"] < CREDIT + _MIB
            subprocess.run(["nbdcopy", server.uri("disk"), tmp_path / "copy"], check=True, timeout=60)
            assert (tmp_path / "copy").read_bytes() == disk.read_bytes()
            assert (tmp_path / "copy").stat().st_blocks * 512 < 10 * _MIB
            assert 9 * _MIB <= _standing(server)["fetched"] < 10 * _MIB
        # What was fetched stays in the cache for the next one.
        with Serving(tmp_path, *options, "--control", str(tmp_path / "control")) as server:
            with server.content("disk") as content:
                assert read(content, 0, content.size) == disk.read_bytes()
            assert _standing(server)["fetched"] == 0

    def test_one_process_hydrates_for_all_and_another_when_it_ends(self, pushed: Reference, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        options = ("--export", f"disk=docker://{pushed}", "--cache", str(cache), "--processes", "3", "--hydrate")
        with Serving(tmp_path, *options, "--control", str(tmp_path / "control")) as server:
            wait_until(lambda: Cache(cache).usage()[0] >= 9 * _MIB)
            assert _standing(server)["fetched"] < 10 * _MIB
            leader = _told(server)["workers"][0]
            shutil.rmtree(cache)
            os.kill(leader, signal.SIGKILL)
            wait_until(lambda: Cache(cache).usage()[0] >= 9 * _MIB)

    def test_an_image_that_is_not_there_is_told(self, repository: Callable[[], Reference], tmp_path: Path) -> None:
        reference = repository()
        options = ("--export", f"disk=docker://{reference}", "--cache", str(tmp_path / "cache"))
        with pytest.raises(RuntimeError, match=reference.repository), Serving(tmp_path, *options):
            pass


class TestUrls:
    @pytest.mark.parametrize("name", ["disk.raw", "disk.qcow2"])
    def test_each_byte_is_fetched_once(self, name: str, disk: Path, qcow2: Path, tmp_path: Path) -> None:
        file = disk.with_name(name)
        with FaultyServer(RangeHandler(file.read_bytes())) as web:
            options = ("--export", f"disk={web.url}/{name}", "--cache", str(tmp_path / "cache"))
            with Serving(tmp_path, *options, "--control", str(tmp_path / "control")) as server:
                for _ in range(2):
                    subprocess.run(["nbdcopy", server.uri("disk"), tmp_path / "copy"], check=True, timeout=60)
                    assert (tmp_path / "copy").read_bytes() == disk.read_bytes()
                assert _standing(server)["fetched"] <= file.stat().st_size
                asked = [asked.range for asked in web.asked if asked.range is not None]
                # Besides the one that finds out about the file.
                assert len({begin for begin, _ in asked[1:]}) == len(asked[1:])

    def test_what_is_not_kept_is_fetched_again(self, disk: Path, tmp_path: Path) -> None:
        with FaultyServer(RangeHandler(disk.read_bytes())) as web:
            options = ("--export", f"disk={web.url}/disk", "--cache", str(tmp_path / "cache"), "--cache-size", "1M")
            with Serving(tmp_path, *options) as server, server.content("disk") as content:
                for _ in range(2):
                    assert read(content, 0, content.size) == disk.read_bytes()

    def test_a_server_that_fails_costs_single_reads_only(self, disk: Path, tmp_path: Path) -> None:
        broken = True

        def before(asked: Any, client: Any) -> bool:
            if broken and asked.range != (0, 0):
                client.sendall(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")
                return True
            return False

        with FaultyServer(RangeHandler(disk.read_bytes(), before=before)) as web:
            options = ("--plain", "disk", "--export", f"disk={web.url}/disk", "--cache", str(tmp_path / "cache"))
            with Serving(tmp_path, *options) as server:
                command = ["qemu-io", "-r", "-f", "raw", "-c", "read 0 4096", server.uri("disk")]
                assert "Input/output error" in subprocess.run(command, capture_output=True, text=True).stdout
                broken = False
                with server.content("disk") as content:
                    assert read(content, 0, content.size) == disk.read_bytes()

    def test_credentials_in_a_url_are_refused_and_not_repeated(self, tmp_path: Path) -> None:
        options = ("--export", "disk=http://user:sesame@127.0.0.1:1/disk", "--cache", str(tmp_path / "cache"))
        with pytest.raises(RuntimeError, match="no credentials may be in a URL") as raised, Serving(tmp_path, *options):
            pass
        assert "http://127.0.0.1:1/disk: " in str(raised.value)
        assert "sesame" not in str(raised.value)

    def test_a_file_without_a_version_is_refused_and_its_query_not_repeated(self, disk: Path, tmp_path: Path) -> None:
        """Its ranges might be of two versions."""
        with FaultyServer(RangeHandler(disk.read_bytes(), etag="")) as web:
            options = ("--export", f"disk={web.url}/disk?key=sesame", "--cache", str(tmp_path / "cache"))
            with pytest.raises(RuntimeError, match="neither an ETag") as raised, Serving(tmp_path, *options):
                pass
        assert "import it with `ingot image pull`" in str(raised.value)
        assert "sesame" not in str(raised.value)

    def test_the_query_of_a_bad_image_is_not_repeated(self, tmp_path: Path) -> None:
        with FaultyServer(RangeHandler(b"QFI\xfb" + bytes(1 << 16))) as web:
            options = ("--export", f"disk={web.url}/disk?key=sesame", "--cache", str(tmp_path / "cache"))
            with pytest.raises(RuntimeError, match="disk: ") as raised, Serving(tmp_path, *options):
                pass
        assert "sesame" not in str(raised.value)
