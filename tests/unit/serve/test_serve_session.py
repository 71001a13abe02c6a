"""Transmission: what a client gets for its requests, with simple and with structured replies."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from sessions import BAD, DATA, SIZE, Held, Memory, Pipe, chunks, request, talk

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve.export import FileExport
from ingot.serve.replies import PIECE, SMALL
from ingot.serve.session import Agreed, Hangup, Session
from ingot.serve.tally import Tally


class TestSimple:
    @pytest.mark.parametrize("length", [1, SMALL, SMALL + 1, PIECE, PIECE + 1, 2 * PIECE])
    def test_reads(self, length: int) -> None:
        told = talk(request(wire.CMD_READ, 0, length), structured=False)
        assert told == wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, 0, 7) + DATA[:length]

    def test_a_read_that_fails_at_once_is_an_error(self) -> None:
        told = talk(request(wire.CMD_READ, BAD, 1), request(wire.CMD_READ, 0, 2), structured=False)
        error = wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, wire.EIO, 7)
        assert told == error + wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, 0, 7) + DATA[:2]

    def test_a_read_that_fails_in_its_middle_ends_the_connection(self) -> None:
        with pytest.raises(Hangup):
            talk(request(wire.CMD_READ, 0, SIZE), structured=False)


class TestStructured:
    @pytest.mark.parametrize("length", [1, SMALL, SMALL + 1, PIECE, PIECE + 1, 2 * PIECE])
    @pytest.mark.parametrize("step", [7, 1 << 20])
    def test_reads(self, length: int, step: int) -> None:
        found = bytearray(length)
        parts = list(chunks(talk(request(wire.CMD_READ, 1, length), step=step)))
        for _, kind, _, payload in parts:
            assert kind == wire.CHUNK_DATA
            start = struct.unpack_from(">Q", payload)[0] - 1
            found[start : start + len(payload) - 8] = payload[8:]
        assert found == DATA[1 : length + 1]
        assert [flags for _, _, flags, _ in parts] == [0] * (len(parts) - 1) + [wire.CHUNK_DONE]

    def test_a_read_that_fails_in_its_middle_is_an_error(self) -> None:
        *_, last = chunks(talk(request(wire.CMD_READ, 0, SIZE)))
        assert last == (7, wire.CHUNK_ERROR, wire.CHUNK_DONE, wire.ERROR.pack(wire.EIO, 0))

    def test_what_must_not_be_cut_comes_whole_or_not(self) -> None:
        (whole,) = chunks(talk(request(wire.CMD_READ, 0, PIECE, wire.FLAG_DF)))
        assert whole[3][8:] == DATA[:PIECE]
        (refused,) = chunks(talk(request(wire.CMD_READ, 0, PIECE + 1, wire.FLAG_DF)))
        assert refused[3] == wire.ERROR.pack(wire.EOVERFLOW, 0)

    def test_status_joins_what_is_alike(self) -> None:
        (told,) = chunks(talk(request(wire.CMD_BLOCK_STATUS, 0, 5000)))
        assert struct.unpack(">7I", told[3]) == (1, 2000, 0, 2000, 3, 1000, 0)

    def test_status_of_one_extent(self) -> None:
        (told,) = chunks(talk(request(wire.CMD_BLOCK_STATUS, 500, 5000, wire.FLAG_REQ_ONE)))
        assert struct.unpack(">3I", told[3])[0] == 1
        assert len(told[3]) == 12


class TestChanges:
    def test_they_are_done_in_order(self) -> None:
        memory = Memory()
        told = talk(
            request(wire.CMD_WRITE, 10, 4, 0, data=b"abcd"),
            request(wire.CMD_WRITE_ZEROES, 20, 5, wire.FLAG_NO_HOLE | wire.FLAG_FUA),
            request(wire.CMD_TRIM, 30, 6),
            request(wire.CMD_FLUSH),
            request(wire.CMD_CACHE, 40, 7),
            export=memory,
        )
        assert told == wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, 0, 7) * 5
        changes = [("write", 10, 4, False), ("zero", 20, 5, False), ("flush",), ("trim", 30, 6), ("flush",)]
        assert memory.done == [*changes, ("ahead", 40, 7)]

    def test_a_long_write_arrives_in_pieces_as_one(self) -> None:
        memory = Memory()
        data = os.urandom(2 * PIECE)
        talk(request(wire.CMD_WRITE, 3, len(data), wire.FLAG_FUA, data=data), export=memory, step=50_001)
        assert memory.data[3 : 3 + len(data)] == data
        assert all(through for *_, through in memory.done)

    @pytest.mark.parametrize(
        ("said", "error"),
        [
            (request(wire.CMD_WRITE, 66, 2, data=b"xx"), wire.ENOSPC),
            (request(wire.CMD_WRITE, SIZE, 1, data=b"x"), wire.ENOSPC),
            (request(wire.CMD_WRITE_ZEROES, 0, 9, wire.FLAG_FAST_ZERO), wire.ENOTSUP),
            (request(wire.CMD_WRITE, 0, 1, wire.FLAG_REQ_ONE, data=b"x"), wire.EINVAL),
        ],
    )
    def test_errors_are_told_and_the_client_goes_on(self, said: bytes, error: int) -> None:
        refused, read = chunks(talk(said, request(wire.CMD_READ, 0, 5, cookie=8)))
        assert refused[3] == wire.ERROR.pack(error, 0)
        assert read[3][8:] == DATA[:5]


def test_after_the_farewell_nothing_is_done() -> None:
    memory = Memory()
    assert talk(request(wire.CMD_DISC), request(wire.CMD_FLUSH), export=memory) == b""
    assert memory.done == []


def test_a_removed_export_refuses_all() -> None:
    pipe = Pipe(request(wire.CMD_READ, 0, 5) + request(wire.CMD_WRITE, 0, 1, data=b"x"))
    memory = Memory()
    session = Session(pipe, Agreed(Held(memory), False, None), Tally())
    session.refuse()
    session.run()
    assert bytes(pipe.told) == wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, wire.ESHUTDOWN, 7) * 2
    assert memory.done == []


@given(some.lists(some.binary(min_size=24, max_size=24)), some.integers(1, 100), some.booleans())
def test_no_request_breaks_the_session(bodies: list[bytes], step: int, structured: bool) -> None:
    said = b"".join(wire.REQUEST_MAGIC.to_bytes(4, "big") + body for body in bodies)
    try:
        talk(said, structured=structured, step=step)
    except Hangup:
        return


class TestFiles:
    @pytest.fixture
    def export(self, tmp_path: Path) -> Iterator[FileExport]:
        (tmp_path / "disk").write_bytes(DATA)
        made = FileExport(os.open(tmp_path / "disk", os.O_RDWR), "disk", writable=True)
        yield made
        made.close()

    def test_zeros_and_holes(self, export: FileExport, tmp_path: Path) -> None:
        export.zero(0, 8192, hole=True, fast=True)
        export.zero(8192, 4096, hole=False, fast=False)
        export.trim(16384, 4096)
        export.flush()
        data = (tmp_path / "disk").read_bytes()
        assert data[:12288] == bytes(12288)
        assert data[12288:16384] == DATA[12288:16384]
        assert data[16384:20480] == bytes(4096)
        assert len(data) == SIZE
        assert next(export.extents(0, SIZE)).data is False

    def test_a_file_that_became_shorter_is_an_error(self, export: FileExport, tmp_path: Path) -> None:
        os.truncate(tmp_path / "disk", 100)
        with pytest.raises(ImageFault, match="before it should"):
            export.readinto(50, memoryview(bytearray(100)))
