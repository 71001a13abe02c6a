"""`ingot serve` and clients who break the protocol: they harm themselves only."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.servers.serving import Serving, wait_for
from ingot.images.content import read
from ingot.images.nbd import wire

_SIZE = 1 << 20


@pytest.fixture(scope="module")
def data() -> bytes:
    return os.urandom(_SIZE)


@pytest.fixture(scope="module")
def serving(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("serving")
    (directory / "disk").write_bytes(data)
    (directory / "other").write_bytes(data)
    exports = ("--export", f"disk={directory / 'disk'}", "--export", f"w={directory / 'other'}", "--writable", "w")
    with Serving(directory, *exports, "--connections", "200") as server:
        yield server


class Raw:
    """A client that says what it likes."""

    def __init__(self, serving: Serving, greet: bool = True) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(serving.address.socket))
        if greet:
            assert len(self.take(wire.GREETING.size)) == wire.GREETING.size
            self.socket.sendall(wire.CLIENT_FLAGS.pack(wire.FIXED_NEWSTYLE | wire.NO_ZEROES))

    def take(self, length: int) -> bytes:
        found = b""
        while len(found) < length and (more := self.socket.recv(length - len(found))):
            found += more
        return found

    def option(self, number: int, data: bytes = b"") -> tuple[int, bytes]:
        """The first reply."""
        self.socket.sendall(wire.OPTION.pack(wire.OPTION_MAGIC, number, len(data)) + data)
        _, _, kind, length = wire.OPTION_REPLY.unpack(self.take(wire.OPTION_REPLY.size))
        return kind, self.take(length)

    def go(self, name: bytes) -> None:
        """Into transmission, with simple replies."""
        self.socket.sendall(wire.OPTION.pack(wire.OPTION_MAGIC, wire.OPT_EXPORT_NAME, len(name)) + name)
        assert len(self.take(wire.EXPORT_ANSWER.size)) == wire.EXPORT_ANSWER.size

    def request(self, command: int, start: int, length: int, flags: int = 0, data: bytes = b"") -> int:
        """The error of the reply."""
        head = wire.REQUEST.pack(wire.REQUEST_MAGIC, flags, command, 77, start, length)
        self.socket.sendall(head + data)
        magic, error, cookie = wire.SIMPLE_REPLY.unpack(self.take(wire.SIMPLE_REPLY.size))
        assert (magic, cookie) == (wire.SIMPLE_REPLY_MAGIC, 77)
        return int(error)

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


@pytest.fixture(autouse=True)
def others_are_served(serving: Serving, data: bytes) -> Iterator[None]:
    """Whatever one client does, another one reads on."""
    with serving.content("disk", 1) as content:
        yield
        assert read(content, 0, _SIZE) == data


class TestHandshakes:
    @pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0" * 4 + b"garbage" * 10])
    def test_garbage_is_hung_up_on(self, serving: Serving, said: bytes) -> None:
        with Raw(serving, greet=False) as client:
            client.take(wire.GREETING.size)
            client.socket.sendall(said)
            assert client.is_closed()

    def test_an_option_that_is_too_long_is_hung_up_on(self, serving: Serving) -> None:
        with Raw(serving) as client:
            client.socket.sendall(wire.OPTION.pack(wire.OPTION_MAGIC, wire.OPT_GO, 0xFFFFFFFF))
            assert client.is_closed()

    def test_options_without_end_are_hung_up_on(self, serving: Serving) -> None:
        with Raw(serving) as client:
            for _ in range(64):
                assert client.option(99)[0] == wire.REP_ERR_UNSUP
            assert client.is_closed()

    @pytest.mark.parametrize(
        ("option", "said"),
        [
            (wire.OPT_GO, b""),
            (wire.OPT_GO, struct.pack(">I", 100) + b"short"),
            (wire.OPT_GO, struct.pack(">I", 4) + b"disk" + struct.pack(">H", 500)),
            (wire.OPT_GO, struct.pack(">I", 2) + b"\xff\xfe" + struct.pack(">H", 0)),
            (wire.OPT_GO, struct.pack(">I", 5000) + b"x" * 5000 + struct.pack(">H", 0)),
            (wire.OPT_LIST, b"data"),
            (wire.OPT_SET_META_CONTEXT, struct.pack(">I", 4) + b"disk" + struct.pack(">I", 0)),
        ],
    )
    def test_wrong_options_are_refused_and_right_ones_then_answered(
        self, serving: Serving, option: int, said: bytes
    ) -> None:
        with Raw(serving) as client:
            assert client.option(option, said)[0] == wire.REP_ERR_INVALID
            assert client.option(wire.OPT_GO, struct.pack(">I", 4) + b"disk" + struct.pack(">H", 0))[0] == wire.REP_INFO

    @pytest.mark.parametrize("name", [b"nothing", b"../disk", b"", b"disk\0", b"/etc/passwd"])
    def test_unknown_names_are_told(self, serving: Serving, name: bytes) -> None:
        with Raw(serving) as client:
            asked = struct.pack(">I", len(name)) + name + struct.pack(">H", 0)
            assert client.option(wire.OPT_GO, asked)[0] == wire.REP_ERR_UNKNOWN
            assert client.option(wire.OPT_ABORT)[0] == wire.REP_ACK

    def test_there_is_no_tls_where_none_is_configured(self, serving: Serving) -> None:
        with Raw(serving) as client:
            assert client.option(wire.OPT_STARTTLS)[0] == wire.REP_ERR_POLICY

    def test_the_oldest_silent_client_makes_room_for_new_ones(self, serving: Serving) -> None:
        silent = [Raw(serving) for _ in range(70)]
        try:
            assert silent[0].is_closed()
            assert silent[-1].option(wire.OPT_LIST)[0] == wire.REP_SERVER
        finally:
            for client in silent:
                client.socket.close()

    def test_more_connections_than_allowed_are_closed(self, serving: Serving) -> None:
        many = []
        try:
            for _ in range(210):
                client = Raw(serving, greet=False)
                many.append(client)
                if client.take(wire.GREETING.size):
                    client.socket.sendall(wire.CLIENT_FLAGS.pack(wire.FIXED_NEWSTYLE | wire.NO_ZEROES))
                    client.go(b"disk")
            assert many[-1].is_closed()
        finally:
            for client in many:
                client.socket.close()
        wait_for(lambda: _answers(serving))


def _answers(serving: Serving) -> bool:
    return subprocess.run(["nbdinfo", "--size", serving.uri("disk")], capture_output=True).returncode == 0


class TestRequests:
    @pytest.fixture
    def client(self, serving: Serving) -> Iterator[Raw]:
        with Raw(serving) as made:
            made.go(b"disk")
            yield made

    @pytest.mark.parametrize(
        ("command", "start", "length", "flags", "error"),
        [
            (wire.CMD_READ, _SIZE, 1, 0, wire.EINVAL),
            (wire.CMD_READ, _SIZE - 1, 2, 0, wire.EINVAL),
            (wire.CMD_READ, 1 << 63, 4096, 0, wire.EINVAL),
            (wire.CMD_READ, 0, 0, 0, wire.EINVAL),
            (wire.CMD_READ, 0, 0xFFFFFFFF, 0, wire.EINVAL),
            (wire.CMD_READ, 0, 512, 0x8000, wire.EINVAL),
            (wire.CMD_BLOCK_STATUS, 0, 512, 0, wire.EINVAL),
            (wire.CMD_FLUSH, 5, 0, 0, wire.EINVAL),
            (wire.CMD_TRIM, 0, 512, 0, wire.EPERM),
            (wire.CMD_WRITE_ZEROES, 0, 512, 0, wire.EPERM),
            (77, 0, 512, 0, wire.EINVAL),
        ],
    )
    def test_bad_ones_get_an_error_and_the_connection_goes_on(
        self, client: Raw, data: bytes, command: int, start: int, length: int, flags: int, error: int
    ) -> None:
        assert client.request(command, start, length, flags) == error
        assert client.request(wire.CMD_READ, 100, 300) == 0
        assert client.take(300) == data[100:400]

    def test_a_write_to_what_is_read_only_is_refused_with_its_payload(self, client: Raw, data: bytes) -> None:
        assert client.request(wire.CMD_WRITE, 0, 300_000, 0, b"x" * 300_000) == wire.EPERM
        assert client.request(wire.CMD_READ, 0, 300_000) == 0
        assert client.take(300_000) == data[:300_000]

    def test_many_requests_at_once_are_all_answered(self, client: Raw, data: bytes) -> None:
        requests = b"".join(
            wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, wire.CMD_READ, number, number * 100, 100) for number in range(5000)
        )
        client.socket.sendall(requests)
        for number in range(5000):
            assert wire.SIMPLE_REPLY.unpack(client.take(16)) == (wire.SIMPLE_REPLY_MAGIC, 0, number)
            assert client.take(100) == data[number * 100 : number * 100 + 100]

    def test_what_is_no_request_is_hung_up_on(self, client: Raw) -> None:
        client.socket.sendall(b"x" * wire.REQUEST.size)
        assert client.is_closed()

    def test_a_write_of_absurd_length_is_hung_up_on(self, client: Raw) -> None:
        client.socket.sendall(wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, wire.CMD_WRITE, 1, 0, 0xFFFFFFFF))
        assert client.is_closed()

    def test_a_request_in_single_bytes_is_answered(self, client: Raw, data: bytes) -> None:
        for byte in wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, wire.CMD_READ, 1, 0, 64):
            client.socket.sendall(bytes([byte]))
        assert client.take(16 + 64)[16:] == data[:64]

    def test_a_client_that_closes_its_half_gets_its_replies(self, client: Raw, data: bytes) -> None:
        client.socket.sendall(wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, wire.CMD_READ, 1, 0, 1000))
        client.socket.shutdown(socket.SHUT_WR)
        assert client.take(16 + 1000)[16:] == data[:1000]
        assert client.is_closed()

    def test_a_client_that_never_reads_harms_nobody(self, client: Raw) -> None:
        client.socket.settimeout(0.5)
        request = wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, wire.CMD_READ, 1, 0, _SIZE)
        with pytest.raises(TimeoutError):
            # More than fits into the buffers of both sides.
            client.socket.sendall(request * 100_000)


def test_writes_beyond_the_end_are_refused_and_others_done(serving: Serving) -> None:
    with Raw(serving) as client:
        client.go(b"w")
        assert client.request(wire.CMD_WRITE, _SIZE - 10, 20, 0, b"x" * 20) == wire.ENOSPC
        assert client.request(wire.CMD_WRITE, 10, 20, wire.FLAG_FUA, b"y" * 20) == 0
        assert client.request(wire.CMD_READ, 10, 20) == 0
        assert client.take(20) == b"y" * 20


def test_a_write_that_breaks_off_leaves_the_others_alone(serving: Serving) -> None:
    with Raw(serving) as client:
        client.go(b"w")
        head = wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, wire.CMD_WRITE, 1, 0, 1000)
        client.socket.sendall(head + b"z" * 500)
    wait_for(lambda: "ended within what it was writing" in serving.log)


def test_a_server_without_free_descriptors_lives_on(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "disk").write_bytes(data)
    with Serving(tmp_path, "--export", f"disk={tmp_path / 'disk'}", files=48) as server:
        many = [Raw(server, greet=False) for _ in range(80)]
        wait_for(lambda: "too many open files" in server.log.lower())
        for client in many:
            client.socket.close()
        wait_for(lambda: _answers(server))
        assert "Traceback" not in server.log
        assert "has ended" not in server.log


def test_those_who_connect_to_the_metrics_and_say_nothing_harm_nobody(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "disk").write_bytes(data)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = ("--export", f"disk={tmp_path / 'disk'}", "--metrics", f"127.0.0.1:{port}")
    with Serving(tmp_path, *options, files=80) as server:
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(120)]
        with server.content("disk") as content:
            assert read(content, 0, _SIZE) == data
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert b'ingot_serve_read_bytes_total{export="disk"}' in answer.read()
        for client in idle:
            client.close()
        assert server.log == ""


def test_nothing_went_wrong_in_the_server(serving: Serving) -> None:
    assert "Traceback" not in serving.log
