"""Looking for requests without sleeping: only while it pays."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from ingot.serve import watch
from ingot.serve.transport import PlainTransport
from ingot.serve.watch import Watch


class Counted(PlainTransport):
    """Counts how often it was glanced at."""

    glances = 0

    def glance(self, view: memoryview) -> int | None:
        self.glances += 1
        return super().glance(view)


@pytest.fixture
def pair() -> Iterator[tuple[Counted, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Counted(ours), theirs


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_spare", True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment that a busy machine does not turn into a long time."""
    monkeypatch.setattr(watch, "_WINDOW", 20_000_000)


def test_what_has_come_is_taken_at_the_first_look(pair: tuple[Counted, socket.socket]) -> None:
    transport, client = pair
    watching, view = Watch(transport), memoryview(bytearray(10))
    client.send(b"abc")
    assert (watching.receive(view), bytes(view[:3]), transport.glances) == (3, b"abc", 1)


def test_a_slow_client_is_slept_for_until_it_is_quick_again(pair: tuple[Counted, socket.socket]) -> None:
    transport, client = pair
    watching, view = Watch(transport), memoryview(bytearray(10))
    late = threading.Thread(target=lambda: (time.sleep(0.1), client.send(b"a")))
    late.start()
    assert watching.receive(view) == 1
    late.join()
    looked = transport.glances
    client.send(b"b")
    assert (watching.receive(view), transport.glances) == (1, looked)
    # That one came at once: the next is looked for.
    client.send(b"c")
    assert (watching.receive(view), transport.glances) == (1, looked + 1)


def test_one_at_a_time_looks(pair: tuple[Counted, socket.socket]) -> None:
    transport, client = pair
    watching, view = Watch(transport), memoryview(bytearray(10))
    client.send(b"a")
    with watch._turn:
        assert (watching.receive(view), transport.glances) == (1, 0)


def test_the_end_is_seen(pair: tuple[Counted, socket.socket]) -> None:
    transport, client = pair
    client.close()
    assert Watch(transport).receive(memoryview(bytearray(10))) == 0
