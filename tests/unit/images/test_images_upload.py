"""An upload: bytes that are brought in pieces become a disk, or nothing."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.images.fault import ImageFault
from ingot.images.pipeline.arrival import Arrival, Displaced
from ingot.images.pipeline.options import ImportOptions
from ingot.images.upload import Upload, importing, most_bytes

MIB = 1 << 20


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.002)


def nothing(*_: int) -> None:
    pass


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "volume").mkdir()
    return tmp_path / "volume" / "disk.img"


@pytest.fixture
def upload(tmp_path: Path, target: Path) -> Upload:
    options = ImportOptions(size=8 * MIB, limit=8 * MIB, replace=True)
    return Upload(importing(target, options, nothing), most_bytes(8 * MIB), tmp_path / "record", nothing)


def bring_all(upload: Upload, content: bytes, start: int = 0) -> None:
    until(lambda: upload.settled)
    for at in range(start, len(content), 1 << 18):
        piece = content[at : at + (1 << 18)]
        until(lambda at=at, piece=piece: upload.bring(at, piece))


def test_what_is_brought_becomes_the_disk(upload: Upload, target: Path) -> None:
    content = bytes(range(256)) * 4096 * 5
    upload.begin(len(content))
    bring_all(upload, content[:-1])
    assert not target.exists()
    assert upload.bring(len(content) - 1, content[-1:])
    upload.finish()
    until(lambda: not upload.running)
    assert (upload.fault, upload.size) == (None, 8 * MIB)
    assert target.read_bytes() == content + bytes(8 * MIB - len(content))


def test_the_last_byte_is_the_end(upload: Upload) -> None:
    """Whoever brought it may be gone before they say so."""
    upload.begin(3)
    bring_all(upload, b"abc")
    until(lambda: upload.complete)
    assert upload.offset == 3


def test_an_end_before_the_last_byte_is_none(upload: Upload, target: Path) -> None:
    """Of bytes whose number is known, some are no whole: they are waited for."""
    upload.begin(2 * MIB)
    bring_all(upload, b"x" * MIB)
    upload.finish()
    assert upload._thread is not None
    upload._thread.join(0.3)
    assert (upload.running, upload.offset, upload.fault) == (True, MIB, None)
    assert not target.exists()
    bring_all(upload, b"x" * 2 * MIB, MIB)
    until(lambda: upload.complete)
    assert target.read_bytes()[: 2 * MIB + 1] == b"x" * 2 * MIB + b"\0"


def test_what_the_client_calls_its_file_is_known_to_the_next_process(upload: Upload, tmp_path: Path) -> None:
    upload.begin(100, "a")
    bring_all(upload, b"abc")
    following = Upload(lambda _arrival, _identity: 1, 1, tmp_path / "record", nothing)
    assert (upload.identity, following.identity) == ("a", "a")
    upload.begin(100)
    assert upload.identity == ""
    upload.end()


def test_a_file_of_which_nothing_is_kept_is_called_nothing(upload: Upload) -> None:
    upload.begin(0, "a")
    with pytest.raises(Displaced):
        bring_all(upload, b"x" * (40 * MIB))
    until(lambda: not upload.running)
    assert upload.identity == ""


def test_a_finished_upload_is_known_to_the_next_process(upload: Upload, tmp_path: Path) -> None:
    upload.begin(3)
    bring_all(upload, b"abc")
    upload.finish()
    until(lambda: upload.complete)

    def never(_arrival: Arrival, _identity: str) -> int:
        raise AssertionError("it is not filled again")

    following = Upload(never, 1, tmp_path / "record", nothing)
    assert following.complete
    assert following.size == 8 * MIB


def test_only_the_next_byte_is_taken(upload: Upload) -> None:
    with pytest.raises(Displaced):
        upload.bring(0, b"x")
    upload.begin(100)
    bring_all(upload, b"abc")
    assert upload.offset == 3
    for start in (0, 2, 4):
        with pytest.raises(Displaced) as wrong:
            upload.bring(start, b"x")
        assert wrong.value.position == 3
    upload.end()


def test_another_upload_takes_the_place_of_one_that_was_begun(upload: Upload, target: Path) -> None:
    upload.begin(100)
    bring_all(upload, b"x" * 50)
    upload.begin(3)
    bring_all(upload, b"abc")
    upload.finish()
    until(lambda: upload.complete)
    assert target.read_bytes()[:100] == b"abc" + bytes(97)


def test_what_is_too_large_leaves_nothing(upload: Upload, target: Path, tmp_path: Path) -> None:
    upload.begin(0)
    with pytest.raises(Displaced):
        bring_all(upload, b"x" * (40 * MIB))
    until(lambda: not upload.running)
    assert upload.fault is not None
    assert upload.fault.reason == "TooLarge"
    assert list(target.parent.iterdir()) == []
    assert not (tmp_path / "record").exists()


def test_no_image_has_more_bytes_than_its_disk_by_far() -> None:
    arrival = Arrival("it", 0, 10, nothing)
    stream = arrival.stream()
    assert arrival.bring(0, b"x" * 11)
    with pytest.raises(ImageFault, match="no image of the disk has over 10 bytes"):
        stream.readinto(memoryview(bytearray(20)))


def test_who_brings_faster_than_is_read_is_told_to_wait_and_called() -> None:
    called = threading.Event()
    arrival = Arrival("it", 0, 1 << 30, called.set)
    stream = arrival.stream()
    piece = bytes(MIB)
    position = 0
    while arrival.bring(position, piece):
        position += MIB
    assert position == 4 * MIB
    called.clear()
    buffer = memoryview(bytearray(3 * MIB // 2))
    assert stream.readinto(buffer) == len(buffer)
    assert called.is_set()
    assert arrival.bring(position, piece)


def test_a_read_that_waits_ends_when_nobody_wants_more() -> None:
    arrival = Arrival("it", 0, 100, nothing)
    stream = arrival.stream()
    faults: list[str] = []

    def read() -> None:
        try:
            stream.readinto(memoryview(bytearray(1)))
        except ImageFault as fault:
            faults.append(fault.reason)

    thread = threading.Thread(target=read)
    thread.start()
    arrival.interrupt()
    thread.join(20)
    assert faults == ["Interrupted"]
    with pytest.raises(ImageFault):
        arrival.stream()
    arrival.reopen()
    assert arrival.stream(5).position == arrival.position == 5
