"""Exports in a worker: held open, prepared, removed meanwhile; and a worker without threads."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sessions import Memory

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve import channel
from ingot.serve.afar import Afar, AfarOptions, Progress
from ingot.serve.catalog import Catalog
from ingot.serve.entry import Entry
from ingot.serve.export import ContentExport, Export
from ingot.serve.holding import Holding
from ingot.serve.opening import Opener
from ingot.serve.totals import Totals
from ingot.serve.worker import Worker


class Preparing(Opener):
    """Takes a step of opening each time that it is allowed to."""

    def __init__(self) -> None:
        super().__init__(Afar(AfarOptions("", 0)))
        self.steps = threading.Semaphore(0)
        self.taken = threading.Semaphore(0)
        self.opened: list[Memory] = []

    def open(self, entry: Entry, progress: Progress) -> Export:
        for done in range(1, 4):
            assert self.steps.acquire(timeout=10)
            progress(100 * done, 300)
            self.taken.release()
        self.opened.append(Memory())
        return self.opened[-1]


class TestHolding:
    @pytest.fixture
    def opener(self) -> Preparing:
        return Preparing()

    @pytest.fixture
    def holding(self, opener: Preparing) -> Holding:
        made = Holding(Catalog(opener))
        assert made.add(Entry("disk", "/dev/null"), pin=False) is False
        return made

    def _opening(self, holding: Holding) -> tuple[threading.Thread, list[object]]:
        ended: list[object] = []

        def work() -> None:
            try:
                ended.append(holding.open("disk"))
            except (KeyError, ImageFault) as error:
                ended.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        return thread, ended

    def test_it_is_told_how_far_it_is(self, opener: Preparing, holding: Holding) -> None:
        thread, ended = self._opening(holding)
        opener.steps.release()
        assert opener.taken.acquire(timeout=10)
        totals = Totals()
        holding.report(totals)
        assert totals.exports["disk"].preparing == (100, 300)
        opener.steps.release(2)
        thread.join(10)
        assert ended == [opener.opened[0].size]
        totals = Totals()
        holding.report(totals)
        assert totals.exports == {}

    def test_removing_ends_what_is_prepared(self, opener: Preparing, holding: Holding) -> None:
        thread, ended = self._opening(holding)
        opener.steps.release()
        assert opener.taken.acquire(timeout=10)
        holding.remove("disk")
        opener.steps.release()
        thread.join(10)
        (error,) = ended
        assert "removed while it was opened" in str(error)
        assert opener.opened == []

    def test_removing_does_not_wait_until_it_is_closed(
        self, opener: Preparing, holding: Holding, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opener.steps.release(3)
        holding.open("disk")
        hanging, closed = threading.Event(), threading.Event()

        def close() -> None:
            hanging.wait(20)
            closed.set()

        monkeypatch.setattr(opener.opened[0], "close", close)
        holding.remove("disk")
        assert not closed.is_set()
        assert holding.add(Entry("disk", "/dev/null"), pin=False) is False
        hanging.set()
        assert closed.wait(20)

    def test_at_the_end_they_are_closed_unless_that_takes_too_long(
        self, opener: Preparing, holding: Holding, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        holding.add(Entry("slow", "/dev/null"), pin=False)
        opener.steps.release(6)
        for name in ("slow", "disk"):
            holding.open(name)
        hanging, closed = threading.Event(), threading.Event()
        monkeypatch.setattr(opener.opened[0], "close", lambda: hanging.wait(20))
        monkeypatch.setattr(opener.opened[1], "close", closed.set)
        holding.close(0.2)
        assert closed.is_set()
        assert not hanging.is_set()
        hanging.set()

    def test_what_is_open_too_late_is_not_kept(self, opener: Preparing, holding: Holding) -> None:
        catalog = holding._catalog
        opener.steps.release(3)
        lease = catalog.take("disk")
        thread, ended = self._opening(holding)
        thread.join(10)
        holding.remove("disk")
        assert lease.gone
        assert ended == [lease.export.size]
        assert holding._leases == {}
        lease.release()


class Refusing(Opener):
    """Fails each time."""

    def __init__(self, reason: str, retry: bool) -> None:
        super().__init__(Afar(AfarOptions("", 0)))
        self.fault = (reason, "it is no disk", retry)
        self.asked = 0

    def open(self, entry: Entry, progress: Progress) -> Export:
        self.asked += 1
        raise ImageFault("layer", *self.fault)


class TestFaults:
    """The bytes of an image that came for nothing are not fetched again for each client."""

    @pytest.mark.parametrize(
        ("source", "reason", "retry", "asked"),
        [
            ("docker://far/image", "WrongDigest", False, 1),
            ("docker://far/image", "TooSlow", True, 3),
            ("docker://far/image", "Denied", False, 3),
            ("/dev/null", "NoDisk", False, 3),
        ],
    )
    def test_final_ones_are_not_met_again(self, source: str, reason: str, retry: bool, asked: int) -> None:
        opener = Refusing(reason, retry)
        catalog = Catalog(opener)
        catalog.add(Entry("disk", source))
        for _ in range(3):
            with pytest.raises(ImageFault, match="layer: it is no disk"):
                catalog.take("disk")
        assert opener.asked == asked
        catalog.remove("disk")
        catalog.add(Entry("disk", source))
        with pytest.raises(ImageFault, match="layer: it is no disk"):
            catalog.take("disk")
        assert opener.asked == asked + 1


class TestWorkersWithoutThreads:
    @pytest.fixture
    def end(self, tmp_path: Path) -> Iterator[socket.socket]:
        """That of the process that listens."""
        ours, theirs = channel.pair()
        settings = {"afar": AfarOptions(str(tmp_path), 0).record(), "processes": 1, "security": None}
        thread = threading.Thread(target=Worker(theirs, settings).run)
        thread.start()
        with ours, theirs:
            ours.settimeout(10)
            yield ours
            channel.send(ours, {"do": "end", "seconds": 0})
            thread.join(10)
            assert not thread.is_alive()

    def _told(self, end: socket.socket) -> dict[str, Any]:
        received = channel.receive(end)
        assert received is not None
        return received[0]

    def test_they_send_clients_away_and_live_on(self, end: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
        def welcome(number: int) -> socket.socket:
            ours, theirs = socket.socketpair()
            with theirs:
                channel.send(end, {"do": "client", "id": number, "peer": "test"}, [theirs.fileno()])
            assert self._told(end) == {"taken": number}
            ours.settimeout(10)
            return ours

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", _no_more)
            with welcome(1) as client:
                assert self._told(end) == {"left": 1}
                assert client.recv(1) == b""
            entry = Entry("disk", "/dev/null").record()
            channel.send(end, {"do": "add", "id": 2, "entry": entry, "pin": False})
            assert self._told(end) == {"id": 2, "fault": ["worker", "Failed", "can't start new thread", True]}
        with welcome(3) as client:
            assert len(client.recv(wire.GREETING.size)) == wire.GREETING.size
        assert self._told(end) == {"left": 1}


def _no_more(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_exports_from_afar_do_not_share_their_threads() -> None:
    """One whose network is silent, and with more reads than it has threads, keeps none of another."""
    silent, other = ContentExport(Memory(), slow=True), ContentExport(Memory(), slow=True)
    assert silent.pool is not None
    assert other.pool is not None
    gate, done = threading.Event(), threading.Event()
    for _ in range(100):
        silent.pool.submit(gate.wait)
    other.pool.submit(done.set)
    assert done.wait(10)
    gate.set()
    before = threading.active_count()
    silent.close()
    other.close()
    assert threading.active_count() < before
