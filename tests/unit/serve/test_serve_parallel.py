"""Sessions with exports that wait: many requests at once, clients who do not take their replies, threads."""

import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from sessions import BAD, DATA, SIZE, Held, Memory, Pipe, chunks, request

from ingot.images.content import NotNear
from ingot.images.nbd import wire
from ingot.serve.parallel import ParallelSession
from ingot.serve.pool import Pool
from ingot.serve.replies import PIECE
from ingot.serve.session import Agreed, Hangup
from ingot.serve.tally import Tally
from ingot.serve.transport import PlainTransport


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(8)
    yield made
    made.close()


def test_reads_are_under_way_at_once_where_they_wait(pool: Pool) -> None:
    said = b"".join(request(wire.CMD_READ, place * 100, 100, cookie=place) for place in range(200))
    pipe = Pipe(said + request(wire.CMD_READ, BAD, 1, cookie=999) + request(wire.CMD_BLOCK_STATUS, 0, 10, cookie=998))
    tally = Tally()
    ParallelSession(pipe, Agreed(Held(Memory()), True, 1), tally, pool).run()
    found = {cookie: (kind, payload) for cookie, kind, _, payload in chunks(bytes(pipe.told))}
    assert all(found[place][1][8:] == DATA[place * 100 :][:100] for place in range(200))
    assert found[999][0] == wire.CHUNK_ERROR
    assert found[998][0] == wire.CHUNK_STATUS
    assert (tally.requests[wire.CMD_READ], tally.errors) == (201, 1)
    assert sum(tally.buckets) == 202


class Near(Memory):
    """The part of a disk that needs no waiting: its first KiB."""

    def readinto(self, start: int, view: memoryview) -> None:
        if start >= 1024:
            raise NotNear
        super().readinto(start, view)


class Partly(Memory):
    """A disk of which only what is not near is ever waited for."""

    near = Near()

    def readinto(self, start: int, view: memoryview) -> None:
        assert start >= 1024
        super().readinto(start, view)


def test_what_is_near_needs_no_other_thread(pool: Pool) -> None:
    places = [0, 5000, 1000, 2048]
    pipe = Pipe(b"".join(request(wire.CMD_READ, place, 24, cookie=place) for place in places))
    tally = Tally()
    ParallelSession(pipe, Agreed(Held(Partly()), True, 1), tally, pool).run()
    found = {cookie: payload[8:] for cookie, _, _, payload in chunks(bytes(pipe.told))}
    assert found == {place: DATA[place : place + 24] for place in places}
    assert (tally.requests[wire.CMD_READ], tally.read, sum(tally.buckets)) == (4, 96, 4)


def test_long_reads_come_in_pieces(pool: Pool) -> None:
    pipe = Pipe(request(wire.CMD_READ, 0, 2 * PIECE, cookie=1) + request(wire.CMD_READ, 0, SIZE, cookie=2))
    tally = Tally()
    ParallelSession(pipe, Agreed(Held(Memory()), True, 1), tally, pool).run()
    told = list(chunks(bytes(pipe.told)))
    pieces = [payload for cookie, _, _, payload in told if cookie == 1]
    assert [struct.unpack_from(">Q", piece)[0] for piece in pieces] == [0, PIECE]
    assert b"".join(piece[8:] for piece in pieces) == DATA[: 2 * PIECE]
    *_, last = (kind for cookie, kind, _, _ in told if cookie == 2)
    assert last == wire.CHUNK_ERROR
    assert tally.read == 2 * PIECE + SIZE


def test_nothing_comes_between_the_pieces_of_a_simple_reply(pool: Pool) -> None:
    reads = [(7 * number, 2 * PIECE - 100 * number, number) for number in range(1, 9)]
    said = b"".join(request(wire.CMD_READ, start, length, cookie=cookie) for start, length, cookie in reads)
    pipe = Pipe(said + request(wire.CMD_READ, SIZE, 1, cookie=99))
    ParallelSession(pipe, Agreed(Held(Memory()), False, None), Tally(), pool).run()
    told, found = bytes(pipe.told), {}
    while told:
        _, error, cookie = wire.SIMPLE_REPLY.unpack_from(told)
        length = 0 if error else reads[cookie - 1][1]
        found[cookie] = error or told[16 : 16 + length]
        told = told[16 + length :]
    assert found == {99: wire.EINVAL} | {cookie: DATA[start : start + length] for start, length, cookie in reads}


def test_a_simple_read_that_fails_in_its_middle_ends_the_connection(pool: Pool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(request(wire.CMD_READ, 0, SIZE))
        session = ParallelSession(PlainTransport(ours), Agreed(Held(Memory()), False, None), Tally(), pool)
        thread = threading.Thread(target=session.run)
        thread.start()
        with theirs.makefile("rb") as file:
            assert len(file.read()) == 16 + 2 * PIECE
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("length", [4096, PIECE, 2 * PIECE])
def test_clients_who_take_no_replies_hold_up_nobody_else(structured: bool, length: int) -> None:
    """Each of them alone has more requests than there are threads."""
    pool, memory = Pool(2), _Counting()
    idle, sessions = [], []
    for _ in range(4):
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            # More than fits into the buffers of both sides.
            theirs.sendall(request(wire.CMD_READ, 0, length) * 50_000)
        agreed = Agreed(Held(memory), structured, None)
        session = ParallelSession(PlainTransport(ours), agreed, Tally(), pool)
        sessions.append((threading.Thread(target=_run, args=(session,)), ours))
        idle.append(theirs)
    for thread, _ in sessions:
        thread.start()
    # More than their sockets can hold.
    assert all(memory.reads.acquire(timeout=10) for _ in range(4 if length > PIECE else 16))
    pipe = Pipe(request(wire.CMD_READ, 0, 100, cookie=1) * 50)
    other = threading.Thread(
        target=ParallelSession(pipe, Agreed(Held(Memory()), True, None), Tally(), pool).run, daemon=True
    )
    other.start()
    other.join(10)
    assert not other.is_alive()
    assert len(list(chunks(bytes(pipe.told)))) == 50
    for (thread, ours), theirs in zip(sessions, idle, strict=True):
        theirs.close()
        thread.join(10)
        assert not thread.is_alive()
        ours.close()
    pool.close()


class _Counting(Memory):
    def __init__(self) -> None:
        super().__init__()
        self.reads = threading.Semaphore(0)

    def readinto(self, start: int, view: memoryview) -> None:
        super().readinto(start, view)
        self.reads.release()


def _run(session: ParallelSession) -> None:
    try:
        session.run()
    except (OSError, Hangup):
        return


class TestPools:
    def test_work_that_fails_costs_no_thread(self, pool: Pool) -> None:
        done = threading.Event()
        for _ in range(20):
            pool.submit(os.fstat, -1)
        pool.submit(done.set)
        assert done.wait(10)

    def test_without_more_threads_it_goes_on_with_those_it_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pool, gate, count = Pool(8), threading.Event(), threading.Semaphore(0)
        pool.submit(gate.wait)
        monkeypatch.setattr(threading.Thread, "start", _no_more)
        for _ in range(5):
            pool.submit(count.release)
        gate.set()
        assert all(count.acquire(timeout=10) for _ in range(5))
        pool.close()

    def test_without_any_thread_the_client_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ours, theirs = socket.socketpair()
        pool = Pool(8)
        monkeypatch.setattr(pool, "_grow", _no_more)
        with ours, theirs:
            theirs.sendall(request(wire.CMD_READ, 0, 100))
            ParallelSession(PlainTransport(ours), Agreed(Held(Memory()), True, None), Tally(), pool).run()
            assert theirs.recv(1) == b""


def _no_more(*_: object) -> None:
    raise RuntimeError("can't start new thread")
