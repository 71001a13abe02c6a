"""A blob at mirrors and at its registry: who is asked next when what has come leads to a fault."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from ingot.images.blob import Blob, Bytes, ByteStream, FileBlob
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.fetching import fetch
from ingot.images.registry.failover import FailoverBlob, doubt, read_anew
from ingot.images.wrapped_blob import WrappedBlob, WrappedStream

DATA = b"0123456789" * 1000
WRONG = b"9876543210" * 1000
LOST = ImageFault("x", "ConnectionLost", "the connection was lost", retry=True)

Make = Callable[[bytes], Blob]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(data: bytes) -> Blob:
            path = tmp_path / str(len(list(tmp_path.iterdir())))
            path.write_bytes(data)
            return stack.enter_context(FileBlob(path))

        yield made


def whole(blob: Blob) -> bytes:
    return b"".join(bytes(piece.data) for piece in fetch(blob, Digest.of(DATA), 0, None, 4))


class BreakingBlob(WrappedBlob):
    """Its streams are lost after half of it."""

    def stream(self, start: int = 0) -> ByteStream:
        return _Breaking(super().stream(start))


class _Breaking(WrappedStream):
    def readinto(self, buffer: memoryview) -> int:
        left = len(DATA) // 2 - self.position
        if left <= 0:
            raise LOST
        return super().readinto(buffer[:left])


def test_a_stream_of_wrong_bytes_is_read_anew_from_the_next_place(make: Make) -> None:
    told: list[tuple[int, ImageFault]] = []
    left = [partial(lambda number, fault: told.append((number, fault)), number) for number in range(3)]
    blob = FailoverBlob([make(WRONG), make(WRONG[1:] + b"9"), make(DATA)], left)
    assert read_anew(blob, lambda: whole(blob)) == DATA
    # It is told of a server, and so lets that rest.
    assert [(number, fault.reason, fault.retry) for number, fault in told] == [
        (0, "WrongDigest", True),
        (1, "WrongDigest", True),
    ]


def test_the_fault_of_the_last_place_is_final(make: Make) -> None:
    blob, tries = FailoverBlob([make(DATA), make(WRONG)]), []

    def work() -> bytes:
        tries.append(blob.current())
        raise ImageFault("x", "BadData", "it cannot be decompressed")

    with pytest.raises(ImageFault, match="cannot be decompressed"):
        read_anew(blob, work)
    assert len(tries) == len(set(tries)) == 2
    alone = make(WRONG)
    with pytest.raises(ImageFault) as caught:
        read_anew(alone, lambda: whole(alone))
    assert (caught.value.reason, caught.value.retry) == ("WrongDigest", False)


def test_what_is_not_of_wrong_bytes_leaves_no_mirror(make: Make) -> None:
    blob = FailoverBlob([make(DATA), make(DATA)])
    for fault in (LOST, ImageFault("x", "NoDisk", "it has no regular file")):
        assert not doubt(blob, fault)
    assert doubt(blob, ImageFault("x", "BadTar", "it is none"))


def test_a_stream_of_two_places_is_read_anew_from_one(make: Make) -> None:
    """The mirror was left when it broke; what it had given before was wrong."""
    blob = FailoverBlob([BreakingBlob(make(WRONG)), make(DATA)])
    seen = []

    def work() -> bytes:
        seen.append(blob.current())
        return whole(blob)

    assert read_anew(blob, work) == DATA
    assert len(seen) == 2
    assert not doubt(blob, ImageFault("x", "BadData", "it cannot be decompressed"))


def test_who_is_left_is_told(make: Make) -> None:
    told: list[ImageFault] = []
    blob = FailoverBlob([BreakingBlob(make(DATA)), make(DATA)], [told.append, told.append])
    assert whole(blob) == DATA
    assert told == [LOST]


class FailingBlob(WrappedBlob):
    """Fails while `fault` is there, and counts how often it was asked."""

    def __init__(self, blob: Blob, fault: ImageFault | None = None) -> None:
        super().__init__(blob)
        self.fault = fault
        self.asked = 0

    def read(self, start: int, length: int) -> Bytes:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return super().read(start, length)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the time."""
    now = [1000.0]
    monkeypatch.setattr("ingot.images.registry.failover.time.monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def test_a_mirror_that_has_failed_is_asked_again_after_a_minute(make: Make, clock: Callable[[float], None]) -> None:
    mirror, own, told = FailingBlob(make(DATA), LOST), FailingBlob(make(DATA)), []
    blob = FailoverBlob([mirror, own], [told.append, told.append])
    for _ in range(3):
        assert bytes(blob.read(0, 10)) == DATA[:10]
    assert (mirror.asked, own.asked, told) == (1, 3, [LOST])
    clock(61)
    assert bytes(blob.read(0, 10)) == DATA[:10]
    assert (mirror.asked, told) == (2, [LOST, LOST])
    mirror.fault = None
    clock(61)
    for _ in range(2):
        assert bytes(blob.read(0, 10)) == DATA[:10]
    assert (mirror.asked, own.asked) == (4, 4)


def test_a_mirror_that_rests_is_asked_where_the_registry_fails(make: Make, clock: Callable[[float], None]) -> None:
    """As where nobody but the mirror can be reached."""
    unknown = ImageFault("x", "Unreachable", "its host cannot be found")
    mirror, own = FailingBlob(make(DATA), LOST), FailingBlob(make(DATA), unknown)
    blob = FailoverBlob([mirror, own])
    with pytest.raises(ImageFault, match="cannot be found") as caught:
        blob.read(0, 10)
    assert caught.value.retry
    mirror.fault = None
    for _ in range(2):
        assert bytes(blob.read(0, 10)) == DATA[:10]
    # It is back, and asked first.
    assert (mirror.asked, own.asked) == (3, 2)


def test_one_alone_asks_whether_a_mirror_is_back(make: Make, clock: Callable[[float], None]) -> None:
    mirror, own = FailingBlob(make(DATA), LOST), FailingBlob(make(DATA))
    blob = FailoverBlob([mirror, own])
    blob.read(0, 10)
    clock(61)
    first, second = blob.order(), blob.order()
    assert [place.blob for place in first] == [mirror, own]
    assert [place.blob for place in second] == [own, mirror]


def test_a_mirror_with_wrong_bytes_is_never_asked_again(make: Make, clock: Callable[[float], None]) -> None:
    mirror, own = FailingBlob(make(WRONG)), FailingBlob(make(DATA))
    blob = FailoverBlob([mirror, own])
    blob.reject(mirror, ImageFault("x", "WrongDigest", "it is not what it should be"))
    clock(1e6)
    own.fault = LOST
    with pytest.raises(ImageFault, match="was lost"):
        blob.read(0, 10)
    assert mirror.asked == 0
