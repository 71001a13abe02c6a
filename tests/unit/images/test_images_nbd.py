"""Our NBD client: addresses, and servers that lie."""

import contextlib
import os
import socket as socket_module
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ingot.images.content import read
from ingot.images.fault import ImageFault
from ingot.images.nbd import channel as channel_module
from ingot.images.nbd import wire
from ingot.images.nbd.address import Address, Tls
from ingot.images.nbd.channel import Channel
from ingot.images.nbd.client import NbdContent
from ingot.images.nbd.connection import Connection

SIZE = 8192
DATA = os.urandom(SIZE)


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("nbd://host/disk", Address("disk", "host")),
            ("nbd://host:99/", Address("", "host", 99)),
            ("nbd://[::1]:99/a/b", Address("a/b", "::1", 99)),
            ("nbd://host/with%20space", Address("with space", "host")),
            ("nbd+unix:///disk?socket=/run/s", Address("disk", socket=Path("/run/s"))),
            ("nbds://host/disk", Address("disk", "host", tls=Tls())),
        ],
    )
    def test_they_are_read_and_written(self, text: str, address: Address) -> None:
        assert Address.parse(text) == address
        assert Address.parse(str(address)) == address

    @pytest.mark.parametrize(
        "text",
        [
            "http://host/",
            "nbd://host:x/",
            "nbd://a..b/",
            f"nbd://{64 * 'a'}/",
            "nbd+unix:///x",
            "nbd://host/x?socket=/y",
            "nbd+unix://host/?socket=/y",
            "",
            "nbd",
        ],
    )
    def test_others_are_refused(self, text: str) -> None:
        with pytest.raises(ImageFault, match="write nbd://HOST"):
            Address.parse(text)

    def test_a_password_is_refused_and_not_repeated(self) -> None:
        with pytest.raises(ImageFault) as raised:
            Address.parse("nbd://user:sesame@host/disk")
        assert "sesame" not in str(raised.value)


def option(number: int, kind: int, data: bytes = b"") -> bytes:
    return wire.OPTION_REPLY.pack(wire.OPTION_REPLY_MAGIC, number, kind, len(data)) + data


GREETING = wire.GREETING.pack(wire.INIT_MAGIC, wire.OPTION_MAGIC, wire.FIXED_NEWSTYLE | wire.NO_ZEROES)
STRUCTURED = option(wire.OPT_STRUCTURED_REPLY, wire.REP_ACK)
CONTEXT = option(wire.OPT_SET_META_CONTEXT, wire.REP_META_CONTEXT, wire.LONG.pack(1) + wire.BASE_ALLOCATION)
CONTEXT += option(wire.OPT_SET_META_CONTEXT, wire.REP_ACK)


def go(size: int = SIZE, *more: bytes) -> bytes:
    export = option(wire.OPT_GO, wire.REP_INFO, wire.EXPORT_INFO.pack(wire.INFO_EXPORT, size, wire.HAS_FLAGS))
    return export + b"".join(more) + option(wire.OPT_GO, wire.REP_ACK)


HELLO = GREETING + STRUCTURED + CONTEXT + go()


def chunk(kind: int, data: bytes = b"", *, done: bool = False, cookie: int = 1) -> bytes:
    return wire.CHUNK.pack(wire.CHUNK_MAGIC, int(done), kind, cookie, len(data)) + data


def data_chunk(start: int, data: bytes, *, done: bool = False) -> bytes:
    return chunk(wire.CHUNK_DATA, wire.DATA_OFFSET.pack(start) + data, done=done)


class Script:
    """A channel to a server that says what was written down, whatever it is asked."""

    def __init__(self, said: bytes) -> None:
        self._said = memoryview(said)

    def __call__(self, _address: Address) -> "Script":
        return self

    def hurry(self, _seconds: float | None) -> None: ...

    def send(self, _data: bytes) -> None: ...

    def close(self) -> None: ...

    def receive(self, length: int) -> bytearray:
        assert length <= 4 << 20, "it takes a length on trust"
        found = bytearray(self._said[:length])
        self._said = self._said[length:]
        if len(found) < length:
            raise ImageFault("script", "Disconnected", "it closed the connection")
        return found

    def receive_into(self, view: memoryview) -> None:
        view[:] = self.receive(len(view))


def connect(said: bytes) -> Connection:
    dial: Callable = Script(said)
    return Connection(Address("disk"), dial)


def answered(said: bytes) -> bytes:
    """What is read when that is the answer."""
    buffer = bytearray(SIZE)
    connect(HELLO + said).read(0, memoryview(buffer))
    return bytes(buffer)


class TestHandshake:
    def test_the_terms_are_taken(self) -> None:
        sizes = option(wire.OPT_GO, wire.REP_INFO, wire.BLOCK_SIZES.pack(wire.INFO_BLOCK_SIZE, 512, 4096, 1 << 20))
        terms = connect(GREETING + STRUCTURED + CONTEXT + go(SIZE, sizes)).terms
        assert (terms.size, terms.structured, terms.context, terms.least, terms.most) == (SIZE, True, 1, 512, 1 << 20)

    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            (b"SSH-2.0-OpenSSH_9.2\r\n", "NotNbd"),
            (wire.GREETING.pack(wire.INIT_MAGIC, wire.OPTION_MAGIC, 0), "NotNbd"),
            (GREETING + b"x" * 20, "BadAnswer"),
            (
                GREETING + wire.OPTION_REPLY.pack(wire.OPTION_REPLY_MAGIC, wire.OPT_STRUCTURED_REPLY, 1, 1 << 31),
                "BadAnswer",
            ),
            (GREETING + option(wire.OPT_STRUCTURED_REPLY, wire.REP_INFO) * 100, "BadAnswer"),
            (GREETING + STRUCTURED + option(wire.OPT_SET_META_CONTEXT, wire.REP_META_CONTEXT, b"x"), "BadAnswer"),
            (
                GREETING + STRUCTURED + option(wire.OPT_SET_META_CONTEXT, wire.REP_META_CONTEXT, b"\0\0\0\1other"),
                "BadAnswer",
            ),
            (GREETING + STRUCTURED + CONTEXT + go(1 << 63), "BadAnswer"),
            (GREETING + STRUCTURED + CONTEXT + option(wire.OPT_GO, wire.REP_ACK), "BadAnswer"),
            (GREETING + STRUCTURED + CONTEXT + option(wire.OPT_GO, wire.REP_INFO, b"\0\0short"), "BadAnswer"),
            (GREETING + STRUCTURED + CONTEXT + option(wire.OPT_GO, wire.REP_ERR_UNKNOWN, b"\x1b[2Jgone"), "NoExport"),
            (
                GREETING
                + STRUCTURED
                + CONTEXT
                + go(SIZE, option(wire.OPT_GO, wire.REP_INFO, wire.BLOCK_SIZES.pack(wire.INFO_BLOCK_SIZE, 3, 4, 5))),
                "BadAnswer",
            ),
            (GREETING[:10], "Disconnected"),
        ],
    )
    def test_what_cannot_be_is_refused(self, said: bytes, reason: str) -> None:
        with pytest.raises(ImageFault) as raised:
            connect(said)
        assert raised.value.reason == reason
        assert "\x1b" not in str(raised.value)


class TestReads:
    def test_chunks_may_come_in_any_order(self) -> None:
        hole = chunk(wire.CHUNK_HOLE, wire.HOLE.pack(4096, 96))
        said = data_chunk(4192, DATA[4192:]) + hole + data_chunk(0, DATA[:4096]) + chunk(wire.CHUNK_NONE, done=True)
        assert answered(said) == DATA[:4096] + bytes(96) + DATA[4192:]

    @pytest.mark.parametrize(
        "said",
        [
            data_chunk(0, DATA[:-1], done=True),
            data_chunk(0, DATA[:4096]) + data_chunk(4095, DATA[4095:], done=True),
            data_chunk(0, DATA[:4096]) + data_chunk(4097, DATA[4097:], done=True),
            data_chunk(1, DATA, done=True),
            data_chunk(1 << 63, DATA, done=True),
            data_chunk(0, DATA + b"more", done=True),
            data_chunk(0, b"", done=True),
            chunk(wire.CHUNK_HOLE, wire.HOLE.pack(0, 0xFFFFFFFF), done=True),
            chunk(wire.CHUNK_HOLE, wire.HOLE.pack(8191, 2), done=True),
            chunk(wire.CHUNK_NONE, done=True),
            chunk(wire.CHUNK_NONE) * 3,
            chunk(wire.CHUNK_NONE, b"x", done=True),
            chunk(wire.CHUNK_STATUS, bytes(12), done=True),
            chunk(99, done=True),
            chunk(wire.CHUNK_NONE, done=True, cookie=2),
            wire.CHUNK.pack(wire.CHUNK_MAGIC, 1, wire.CHUNK_ERROR, 1, 0xFFFFFFFF),
            wire.CHUNK.pack(wire.CHUNK_MAGIC, 1, wire.CHUNK_ERROR, 1, 1) + b"x",
            b"".join(data_chunk(place, DATA[place : place + 1]) for place in range(100)),
            b"x" * 100,
        ],
    )
    def test_lies_are_found_out(self, said: bytes) -> None:
        with pytest.raises(ImageFault, match="breaks the protocol"):
            answered(said)

    def test_an_error_of_the_server_is_told(self) -> None:
        with pytest.raises(ImageFault, match="Input/output error"):
            answered(chunk(wire.CHUNK_ERROR, wire.ERROR.pack(wire.EIO, 3) + b"bad", done=True))

    @given(some.binary(max_size=300))
    def test_nothing_that_is_said_breaks_the_client(self, said: bytes) -> None:
        with pytest.raises(ImageFault):
            answered(wire.CHUNK_MAGIC.to_bytes(4, "big") + said)


class TestStatus:
    def ask(self, body: bytes) -> list[tuple[int, int]]:
        return connect(HELLO + chunk(wire.CHUNK_STATUS, body, done=True)).status(0, SIZE)

    def test_the_last_extent_may_go_beyond_the_question(self) -> None:
        assert self.ask(struct.pack(">I4I", 1, 4096, 3, 1 << 30, 0)) == [(4096, 3), (4096, 0)]

    @pytest.mark.parametrize(
        "body",
        [
            struct.pack(">I2I", 2, SIZE, 0),
            struct.pack(">I2I", 1, 0, 0),
            struct.pack(">I4I", 1, SIZE, 0, 1, 0),
            struct.pack(">I", 1),
            struct.pack(">I3I", 1, 1, 1, 1),
            b"",
        ],
    )
    def test_lies_are_found_out(self, body: bytes) -> None:
        with pytest.raises(ImageFault, match="breaks the protocol"):
            self.ask(body)

    def test_an_answer_that_is_put_off_is_none(self) -> None:
        body = chunk(wire.CHUNK_STATUS, struct.pack(">I2I", 1, SIZE, 0), done=True)
        with pytest.raises(ImageFault, match="breaks the protocol"):
            connect(HELLO + chunk(wire.CHUNK_NONE) + body).status(0, SIZE)


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("nbdkit")
    (directory / "disk").write_bytes(DATA)
    policy = ["--filter=blocksize-policy", "blocksize-minimum=512", "blocksize-error-policy=error"]
    where = ["-U", directory / "socket", "-P", directory / "ready"]
    command = ["nbdkit", "-f", "-r", *where, policy[0], "file", directory / "disk", *policy[1:]]
    with subprocess.Popen(command) as server:
        while not (directory / "ready").exists():
            assert server.poll() is None
        yield directory / "socket"
        server.terminate()


class TestRealServers:
    def test_least_blocks_are_kept_to(self, socket: Path) -> None:
        with NbdContent(Address(socket=socket)) as content:
            assert read(content, 1000, 3) == DATA[1000:1003]
            assert read(content, 0, SIZE) == DATA
            assert [(extent.start, extent.length) for extent in content.extents(100, 900)] == [(100, 800)]
            with pytest.raises(ImageFault, match="are wanted of"):
                read(content, SIZE - 1, 2)

    def test_threads_read_at_once(self, socket: Path) -> None:
        with NbdContent(Address(socket=socket), 3) as content:
            wrong: list[int] = []

            def work(start: int) -> None:
                for _ in range(20):
                    if read(content, start, 512) != DATA[start : start + 512]:
                        wrong.append(start)

            threads = [threading.Thread(target=work, args=(start,)) for start in range(0, SIZE, 1024)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not wrong

    def test_nobody_there_may_be_tried_again(self, tmp_path: Path) -> None:
        with pytest.raises(ImageFault) as raised:
            NbdContent(Address(socket=tmp_path / "nothing"))
        assert raised.value.retry


class TestSlowServers:
    @pytest.fixture
    def pair(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Channel, socket_module.socket]]:
        """A channel that has a fifth of a second of patience, and the server's end of it."""
        monkeypatch.setattr(channel_module, "SILENCE_SECONDS", 0.2)
        ours, theirs = socket_module.socketpair()
        monkeypatch.setattr(channel_module, "_connect", lambda address: ours)
        with ours, theirs:
            yield Channel(Address("disk")), theirs

    def test_one_that_dribbles_is_given_up(self, pair: tuple[Channel, socket_module.socket]) -> None:
        channel, server = pair
        stop = threading.Event()

        def dribble() -> None:
            with contextlib.suppress(OSError):
                while not stop.wait(0.02):
                    server.sendall(b"x")

        thread = threading.Thread(target=dribble)
        thread.start()
        with pytest.raises(ImageFault, match="timed out") as raised:
            channel.receive(1000)
        stop.set()
        thread.join()
        assert raised.value.retry

    def test_our_own_pauses_cost_nothing(self, pair: tuple[Channel, socket_module.socket]) -> None:
        channel, server = pair
        for _ in range(4):
            server.sendall(b"x" * 100)
            time.sleep(0.1)
            assert len(channel.receive(100)) == 100
