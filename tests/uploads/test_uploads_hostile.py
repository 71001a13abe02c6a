"""Clients that mean ill: slow, endless, lying, many at once. The endpoint stays up, small and usable for the others."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from pathlib import Path

import pytest

from eventual import eventually
from ingot.web.door import MOST_CONNECTIONS
from uploads.curl import curl
from uploads.disks_to_send import MIB, a_disk
from uploads.lab import Lab
from uploads.test_uploads_up import offset, sent


def connected(url: str) -> ssl.SSLSocket:
    """A connection to the endpoint, of which nothing is checked."""
    host, port = url.removeprefix("https://").partition("/")[0].split(":")
    context = ssl._create_unverified_context()  # noqa: S323, it is the server that is to be careful here
    return context.wrap_socket(socket.create_connection((host, int(port)), timeout=30))


def head(token: str, *lines: str) -> bytes:
    every = ["PUT /v1beta1/upload HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *lines, "", ""]
    return "\r\n".join(every).encode()


def answer_to(stream: ssl.SSLSocket) -> bytes:
    """What comes, up to the end."""
    found = b""
    try:
        while data := stream.recv(65536):
            found += data
    except (ConnectionError, ssl.SSLError):
        pass
    return found


async def memory(lab: Lab) -> int:
    """What the endpoint has resident, in bytes."""
    pid = (await asyncio.to_thread(lab.status))["web"]["pid"]  # type: ignore[index]
    return resident(int(pid))


def resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (found,) = [line for line in lines if line.startswith("VmRSS:")]
    return int(found.split()[1]) << 10


async def test_an_endless_chunked_body_ends_at_the_volume_s_size(lab: Lab) -> None:
    """B8: nothing is left of it, and what it took is given back."""
    await lab.volume("disk", "16Mi")
    token = await lab.token("disk")
    url = await lab.url()

    def endless() -> bool:
        piece = os.urandom(1 << 16)
        chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
        deadline = time.monotonic() + 30
        with connected(url) as stream:
            stream.sendall(head(token, "Transfer-Encoding: chunked"))
            try:
                while time.monotonic() < deadline:
                    stream.sendall(chunk)
            except OSError:
                return True
        return False

    assert await asyncio.to_thread(endless), "it may go on and on"
    assert await offset(lab, token) == 0


async def test_an_endless_compressed_body_of_zeros_ends_too(lab: Lab, tmp_path: Path) -> None:
    import zlib

    await lab.volume("disk", "16Mi")
    token = await lab.token("disk")
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with (tmp_path / "bomb").open("wb") as file:
        for _ in range(1024):
            file.write(packer.compress(bytes(MIB)))
        file.write(packer.flush())
    answer = await sent(lab, token, tmp_path / "bomb")
    assert answer.code == 413, answer


async def test_a_length_that_is_a_lie_leaves_an_upload_that_goes_on(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    await lab.volume("disk")
    token = await lab.token("disk")
    url = await lab.url()

    async def arrived() -> bool:
        return await offset(lab, token) == 2 * MIB

    with await asyncio.to_thread(connected, url) as stream:
        said = head(token, f"Content-Length: {len(content)}") + content[: 2 * MIB]
        await asyncio.to_thread(stream.sendall, said)
        assert await eventually(arrived)
    answer = await sent(lab, token, tmp_path / "disk.raw", "--continue-at", str(2 * MIB))
    assert answer.code == 200, answer
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: -1",),
        ("Content-Length: 1", "Content-Length: 2"),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: gzip",),
        ("Content-Length: 99999999999999999999999999",),
    ],
)
async def test_lengths_that_nobody_can_mean_are_refused(lab: Lab, lines: tuple[str, ...]) -> None:
    url = await lab.url()

    def ask() -> bytes:
        with connected(url) as stream:
            stream.sendall(head("x.y", *lines))
            stream.settimeout(15)
            return stream.recv(65536)

    answer = await asyncio.to_thread(ask)
    assert answer.split(b" ")[1] in (b"400", b"401"), answer


async def test_huge_headers_are_refused_and_not_kept(lab: Lab) -> None:
    url = await lab.url()
    before = await memory(lab)

    def flood() -> bytes:
        with connected(url) as stream:
            stream.sendall(b"PUT /v1beta1/upload HTTP/1.1\r\nHost: x\r\n")
            line = b"X: " + b"y" * 60000 + b"\r\n"
            try:
                for _ in range(400):
                    stream.sendall(line)
            except OSError:
                pass
            return answer_to(stream)

    answers = await asyncio.gather(*(asyncio.to_thread(flood) for _ in range(8)))
    assert all(not answer or answer.split(b" ")[1] in (b"400", b"431") for answer in answers)
    assert await memory(lab) - before < 64 * MIB


async def test_those_who_say_nothing_are_hung_up_on(lab: Lab) -> None:
    url = await lab.url()

    def wait() -> float:
        began = time.monotonic()
        with connected(url) as stream:
            stream.sendall(b"PUT /v1beta1/upload HTTP/1.1\r\nHo")
            answer_to(stream)
        return time.monotonic() - began

    assert await asyncio.to_thread(wait) < 20


async def test_many_at_once_cost_little_and_keep_nobody_out_for_long(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    await lab.volume("disk")
    url = await lab.url()
    before = await memory(lab)

    def crowd() -> list[ssl.SSLSocket]:
        found = []
        for _ in range(MOST_CONNECTIONS + 40):
            try:
                found.append(connected(url))
            except OSError:
                break
        return found

    crowded = await asyncio.to_thread(crowd)
    try:
        assert await memory(lab) - before < 200 * MIB
    finally:
        for stream in crowded:
            stream.close()
    answer = await sent(lab, await lab.token("disk"), tmp_path / "disk.raw")
    assert answer.code == 200, answer
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_a_slow_client_holds_up_nobody_else(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    await lab.volume("slow")
    await lab.volume("disk")
    slow, quick, url = await lab.token("slow"), await lab.token("disk"), await lab.url()
    with await asyncio.to_thread(connected, url) as stream:
        stream.sendall(head(slow, "Content-Length: 1000000") + b"x")
        answer = await sent(lab, quick, tmp_path / "disk.raw")
        assert answer.code == 200, answer
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_other_paths_and_methods_are_refused(lab: Lab) -> None:
    for path, method, code in (
        ("/", "GET", 404),
        ("/v1beta1/upload/../../etc", "PUT", 404),
        ("/v1beta1/upload", "DELETE", 405),
        ("/v1beta1/upload", "GET", 405),
    ):
        url = await lab.url(path)
        answer = await asyncio.to_thread(curl, url, "x.y", "--path-as-is", "--request", method, trust=lab.trust)
        assert answer.code == code, (path, method, answer)
