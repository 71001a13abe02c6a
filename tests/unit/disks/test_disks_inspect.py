"""Looking at endpoints before a guest gets them, with real images and a real server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.api.kubevirt.uri import HostPort
from ingot.disks.endpoint import Block, Credentials, File, Format, Network
from ingot.disks.fault import DiskFault
from ingot.disks.inspect import check_qcow2, describe, probe
from ingot.images.qcow2.header import HEAD, MOST_BYTES, BadHeader, Header

SIZE = 3 << 20
Serve = Callable[[Path, str], Network]


def create(path: Path, *arguments: str) -> Path:
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *arguments, path, str(SIZE)], check=True)
    return path


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves a file as the bytes it has, under a name, on a socket."""
    with ExitStack() as stack:

        def start(path: Path, name: str) -> Network:
            where = tmp_path / "s"
            ready = ["--fork", "--pid-file", str(tmp_path / "pid")]
            command = ["qemu-nbd", "-t", "-f", "raw", "-x", name, "-k", str(where), *ready, str(path)]
            subprocess.run(command, check=True)
            pid = (tmp_path / "pid").read_text().strip()
            stack.callback(subprocess.run, ["kill", pid], check=True)
            return Network("nbd", name, socket=where)

        yield start


async def fault(endpoint: Network | File, scratch: Path) -> DiskFault:
    with pytest.raises(DiskFault) as caught:
        await probe("data", endpoint, scratch)
    assert caught.value.volume == "data"
    assert "tried again in 10 s" in caught.value.message
    return caught.value


async def test_sizes_of_files(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(bytes(4096))
    assert await probe("data", File(tmp_path / "raw"), tmp_path) == 4096
    image = create(tmp_path / "image")
    assert await probe("data", File(image, Format.QCOW2), tmp_path) == SIZE
    assert (await fault(File(tmp_path / "none"), tmp_path)).reason == "NotFound"
    assert (await fault(File(tmp_path / "raw", Format.QCOW2), tmp_path)).reason == "BadImage"


async def test_the_size_of_a_device(tmp_path: Path, loop: tuple[Path, Path]) -> None:
    assert await probe("data", Block(loop[1]), tmp_path) == 1 << 20


async def test_an_export(tmp_path: Path, serve: Serve) -> None:
    image = create(tmp_path / "image")
    export = serve(image, "A/b c")
    assert await probe("data", export, tmp_path) == -(-image.stat().st_size // 512) * 512
    as_qcow2 = Network("nbd", export.name, socket=export.socket, format=Format.QCOW2)
    assert await check_qcow2("data", as_qcow2, tmp_path) == SIZE
    absent = await fault(Network("nbd", "other", socket=export.socket), tmp_path)
    assert absent.reason == "NotFound"
    assert "'other'" in absent.message
    assert "json:" not in absent.message


async def test_an_export_that_leads_to_the_nodes_files(tmp_path: Path, serve: Serve) -> None:
    image = create(tmp_path / "image", "-u", "-b", "/etc/shadow", "-F", "raw")
    export = serve(image, "x")
    found = await fault(Network("nbd", "x", socket=export.socket, format=Format.QCOW2), tmp_path)
    assert found.reason == "BadImage"
    assert "backing file" in found.message


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = await fault(Network("nbd", "x", (HostPort("127.0.0.1", port),)), tmp_path)
    assert found.reason == "Unreachable"
    assert f"127.0.0.1:{port}: Connection refused" in found.message
    assert "'x'" in found.message
    nowhere = await fault(Network("nbd", "x", (HostPort("no-such-host.invalid", 1),)), tmp_path)
    assert nowhere.reason == "Unreachable"


async def test_a_server_of_another_kind_is_told_and_no_secret_stays(tmp_path: Path) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        hosts = (HostPort("127.0.0.1", server.sockets[0].getsockname()[1]),)
        found = await fault(
            Network("iscsi", "iqn.2020-01.a:b", hosts, lun=1, credentials=Credentials("u", b"hush")), tmp_path
        )
    assert found.reason == "Unreachable"
    assert "hush" not in found.message
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240


def patched(path: Path, offset: int, form: str, value: int) -> Path:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(struct.pack(form, value))
    return path


@pytest.mark.parametrize(
    ("offset", "form", "value", "told"),
    [
        (4, ">I", 4, "version 4"),
        (8, ">Q", 512, "backing file"),
        (20, ">I", 40, "clusters"),
        (24, ">Q", 1 << 60, "virtual size"),
        (24, ">Q", 0, "virtual size"),
        (32, ">I", 2, "encrypted"),
        (36, ">I", 1 << 31, "tables"),
        (72, ">Q", 2, "corrupt"),
        (72, ">Q", 4, "data file"),
        (72, ">Q", 1 << 40, "features"),
    ],
)
async def test_headers_that_are_refused(tmp_path: Path, offset: int, form: str, value: int, told: str) -> None:
    image = File(patched(create(tmp_path / "image"), offset, form, value), Format.QCOW2)
    found = await fault(image, tmp_path)
    assert found.reason == "BadImage"
    assert told in found.message
    assert str(image.path) in found.message


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", "data_file=elsewhere.raw"],
        ["-o", "encrypt.format=aes,encrypt.key-secret=k", "--object", "secret,id=k,data=abc"],
    ],
)
async def test_images_as_qemu_makes_them(tmp_path: Path, arguments: list[str]) -> None:
    chosen = [argument.replace("elsewhere", str(tmp_path / "elsewhere")) for argument in arguments]
    image = create(tmp_path / "image", *chosen)
    assert (await fault(File(image, Format.QCOW2), tmp_path)).reason == "BadImage"


@pytest.mark.parametrize("options", ["compat=0.10", "compression_type=zstd", "extended_l2=on", "cluster_size=2M"])
async def test_whole_images_of_every_kind_are_taken(tmp_path: Path, options: str) -> None:
    image = create(tmp_path / "image", "-o", options)
    assert await probe("data", File(image, Format.QCOW2), tmp_path) == SIZE


@given(st.binary(max_size=HEAD), st.booleans())
def test_no_header_is_too_strange(head: bytes, known: bool) -> None:
    with contextlib.suppress(BadHeader):
        header = Header.parse(b"QFI\xfb\0\0\0\3" + head if known else head)
        header.check()
        assert 0 < header.size <= MOST_BYTES
        assert not header.backing


def test_endpoints_in_words() -> None:
    endpoint = Network("iscsi", "iqn.2020-01.a:b", (HostPort("h", 3260),), lun=2, credentials=Credentials("u", b"hush"))
    assert describe(endpoint) == "LUN 2 of iSCSI target iqn.2020-01.a:b at h:3260"
    assert describe(Network("rbd", "p/i", (HostPort("a", 1), HostPort("b", 2)))) == "RBD image p/i at a:1, b:2"
