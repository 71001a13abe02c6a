"""`ingot serve` with the clients that people have: libnbd's and QEMU's tools, and our own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.servers.serving import Serving
from ingot.images.content import read

_MIB = 1 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 MiB: a hole, 3 MiB of data, a hole, an odd piece of data, a hole."""
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    noise = os.urandom(3 * _MIB)
    with path.open("wb") as file:
        file.truncate(16 * _MIB)
        file.seek(2 * _MIB)
        file.write(noise)
        file.seek(9 * _MIB)
        file.write(noise[:100_000])
    return path


@pytest.fixture(scope="module")
def qcow2(disk: Path) -> Path:
    path = disk.with_name("disk.qcow2")
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", "-c", disk, path], check=True)
    return path


@pytest.fixture(scope="module", params=["unix", "tcp"])
def serving(
    request: pytest.FixtureRequest, disk: Path, qcow2: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serving]:
    exports = (
        "--export",
        f"raw={disk}",
        "--export",
        f"qcow2={qcow2}",
        "--export",
        f"bytes={qcow2}",
        "--plain",
        "bytes",
    )
    with Serving(tmp_path_factory.mktemp("serving"), *exports, tcp=request.param == "tcp") as server:
        yield server


def _run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("export", ["raw", "qcow2"])
class TestEveryClientSeesTheDisk:
    def test_nbdcopy_copies_it_with_its_holes(self, serving: Serving, export: str, disk: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy"
        _run("nbdcopy", serving.uri(export), copy)
        assert copy.read_bytes() == disk.read_bytes()
        assert copy.stat().st_blocks * 512 < 4 * _MIB

    def test_qemu_img_finds_it_identical(self, serving: Serving, export: str, disk: Path) -> None:
        assert "identical" in _run("qemu-img", "compare", "-f", "raw", "-F", "raw", serving.uri(export), disk)

    def test_qemu_img_converts_it_with_its_holes(
        self, serving: Serving, export: str, disk: Path, tmp_path: Path
    ) -> None:
        copy = tmp_path / "copy"
        _run("qemu-img", "convert", "-f", "raw", "-O", "raw", serving.uri(export), copy)
        assert copy.read_bytes() == disk.read_bytes()
        assert copy.stat().st_blocks * 512 < 4 * _MIB

    def test_qemu_img_maps_the_holes(self, serving: Serving, export: str) -> None:
        found = json.loads(_run("qemu-img", "map", "-f", "raw", "--output=json", serving.uri(export)))
        assert [(each["start"], each["data"]) for each in found][:3] == [
            (0, False),
            (2 * _MIB, True),
            (5 * _MIB, False),
        ]
        assert all(each["zero"] != each["data"] for each in found)

    def test_ours_reads_it(self, serving: Serving, export: str, disk: Path) -> None:
        with serving.content(export) as content:
            assert read(content, 0, content.size) == disk.read_bytes()
            assert read(content, 2 * _MIB + 7, 40_000) == disk.read_bytes()[2 * _MIB + 7 :][:40_000]
            assert [extent.start for extent in content.extents(0, content.size) if extent.data] == [2 * _MIB, 9 * _MIB]


def test_nbdinfo_is_told_what_can_be_done(serving: Serving) -> None:
    told = json.loads(_run("nbdinfo", "--json", serving.uri("raw")))["exports"][0]
    assert told["export-size"] == 16 * _MIB
    able = {word for word, value in told.items() if value is True}
    assert able == {"is_read_only", "can_multi_conn", "can_cache", "can_df", "can_flush"}
    assert told["contexts"] == ["base:allocation"]
    assert told["block_size_maximum"] == 32 * _MIB


def test_exports_are_listed(serving: Serving) -> None:
    told = json.loads(_run("nbdinfo", "--list", "--json", serving.uri()))
    assert [export["export-name"] for export in told["exports"]] == ["raw", "qcow2", "bytes"]


def test_qemu_nbd_lists_them(serving: Serving) -> None:
    address = serving.address
    where = [f"--socket={address.socket}"] if address.socket else ["-b", address.host, "-p", str(address.port)]
    said = _run("qemu-nbd", "--list", *where)
    assert "exports available: 3" in said
    assert "export: 'qcow2'" in said


def test_plain_bytes_are_the_file_itself(serving: Serving, qcow2: Path, tmp_path: Path) -> None:
    _run("nbdcopy", serving.uri("bytes"), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == qcow2.read_bytes()


def test_an_export_that_is_not_there_is_told(serving: Serving) -> None:
    done = subprocess.run(["nbdinfo", serving.uri("nothing")], capture_output=True, text=True)
    assert done.returncode != 0
    assert "No such file or directory for export" in done.stderr


class TestWriting:
    @pytest.fixture
    def writing(self, tmp_path: Path) -> Iterator[Serving]:
        with (tmp_path / "disk.raw").open("wb") as file:
            file.truncate(8 * _MIB)
        with Serving(tmp_path, "--export", f"disk={tmp_path / 'disk.raw'}", "--writable", "disk") as server:
            yield server

    def test_nbdcopy_writes_a_disk_and_its_holes(self, writing: Serving, tmp_path: Path) -> None:
        noise = os.urandom(3 * _MIB)
        (tmp_path / "source").write_bytes(noise + bytes(5 * _MIB))
        _run("nbdcopy", "--flush", tmp_path / "source", writing.uri("disk"))
        assert (tmp_path / "disk.raw").read_bytes() == noise + bytes(5 * _MIB)
        assert (tmp_path / "disk.raw").stat().st_blocks * 512 <= 3 * _MIB + 65536

    def test_qemu_io_writes_zeroes_discards_and_flushes(self, writing: Serving, tmp_path: Path) -> None:
        commands = ["write -P 7 0 4M", "write -z 1M 1M", "discard 2M 1M", "write -f -P 9 5000000 1000", "flush"]
        words = [word for command in commands for word in ("-c", command)]
        _run("qemu-io", "-f", "raw", *words, writing.uri("disk"))
        data = (tmp_path / "disk.raw").read_bytes()
        assert data[:_MIB] == bytes([7]) * _MIB
        assert data[_MIB : 3 * _MIB] == bytes(2 * _MIB)
        assert data[3 * _MIB : 4 * _MIB] == bytes([7]) * _MIB
        assert data[5_000_000:5_001_000] == bytes([9]) * 1000
        assert len(data) == 8 * _MIB

    def test_a_qcow2_is_not_writable(self, qcow2: Path, tmp_path: Path) -> None:
        options = ("--export", f"disk={qcow2}", "--writable", "disk")
        with (
            pytest.raises(RuntimeError, match="no raw disk, and only those can be written to"),
            Serving(tmp_path, *options),
        ):
            pass


def test_read_only_exports_refuse_to_be_written(serving: Serving) -> None:
    done = subprocess.run(
        ["qemu-io", "-f", "raw", "-c", "write 0 4096", serving.uri("raw")], capture_output=True, text=True
    )
    assert done.returncode != 0


class TestDirectories:
    def test_images_are_served_by_their_names_and_nothing_else(self, disk: Path, qcow2: Path, tmp_path: Path) -> None:
        images = tmp_path / "images"
        images.mkdir()
        (images / "debian.raw").write_bytes(disk.read_bytes())
        (images / "debian.qcow2").write_bytes(qcow2.read_bytes())
        (images / "latest").symlink_to("debian.qcow2")
        (images / "outside").symlink_to(disk)
        (images / "up").symlink_to("../images/debian.raw")
        (images / ".hidden").write_bytes(b"secret")
        (images / "folder").mkdir()
        os.mkfifo(images / "fifo")
        with Serving(tmp_path, "--directory", str(images), "--export", f"more={images}") as server:
            told = json.loads(_run("nbdinfo", "--list", "--json", server.uri()))
            names = [export["export-name"] for export in told["exports"]]
            assert sorted(names) == sorted(
                ["more/debian.qcow2", "more/debian.raw", "more/latest", "debian.qcow2", "debian.raw", "latest"]
            )
            for name in ("debian.raw", "latest", "more/debian.qcow2"):
                with server.content(name) as content:
                    assert read(content, 0, content.size) == disk.read_bytes()
            for name in (
                "outside",
                "up",
                ".hidden",
                "folder",
                "fifo",
                "../disk.raw",
                "/etc/passwd",
                "more/../latest",
                "",
            ):
                done = subprocess.run(["nbdinfo", server.uri(name)], capture_output=True, text=True)
                assert done.returncode != 0, name
