"""An archive that is uploaded into a volume which may have files of others: theirs stay, and kills do no harm (B8)."""

import io
import json
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.images.archive.staging import WHOLE, Staging
from ingot.images.archive.unpacker import publish_rest
from ingot.images.upload import Upload, most_bytes, unpacking

MIB = 1 << 20


def _tar(*names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
    return buffer.getvalue()


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    (tmp_path / "volume").mkdir()
    return tmp_path / "volume"


@pytest.fixture
def worker(volume: Path) -> Callable[[], Upload]:
    """One worker after the other, of the same pod."""

    def start() -> Upload:
        return Upload(unpacking(volume, MIB, _nothing), most_bytes(MIB), volume.with_name("record"), _nothing)

    return start


def _nothing(*_: int) -> None:
    pass


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.002)


def _send(upload: Upload, content: bytes) -> None:
    upload.begin(len(content))
    _until(lambda: upload.settled)
    assert upload.bring(0, content)
    upload.finish()
    _until(lambda: not upload.running)


def _names(volume: Path) -> list[str]:
    return sorted(each.name for each in volume.iterdir())


def _forget(volume: Path) -> None:
    with Staging(volume) as staging:
        staging.forget()


def test_one_that_was_killed_before_its_end_was_recorded_is_complete(
    volume: Path, worker: Callable[[], Upload]
) -> None:
    _send(worker(), _tar("etc/passwd", "top"))
    record = json.loads(volume.with_name("record").read_bytes())
    volume.with_name("record").write_text(json.dumps({**record, "size": None}))
    second = worker()
    _until(lambda: not second.running)
    assert (second.complete, second.fault) == (True, None)
    assert _names(volume) == [WHOLE, "etc", "top"]
    assert worker().complete
    _forget(volume)
    assert _names(volume) == ["etc", "top"]
    assert (volume / "etc" / "passwd").read_text() == "etc/passwd"


def test_directories_of_others_stay_and_nothing_is_seen_of_what_would_replace_them(
    volume: Path, worker: Callable[[], Upload]
) -> None:
    (volume / "etc").mkdir()
    (volume / "etc" / "theirs").write_text("theirs")
    (volume / "empty").mkdir()
    (volume / "readme").write_text("theirs")
    upload = worker()
    _send(upload, _tar("a", "etc/passwd"))
    assert upload.fault is not None
    assert (upload.fault.reason, upload.fault.retry) == ("Exists", False)
    assert _names(volume) == ["empty", "etc", "readme"], "all of them or none"
    # What was refused is in nobody's way.
    _send(upload, _tar("b", "empty/file", "readme"))
    assert upload.complete
    _forget(volume)
    assert _names(volume) == ["b", "empty", "etc", "readme"]
    assert (volume / "etc" / "theirs").read_text() == "theirs"
    assert (volume / "readme").read_text() == "readme"


def test_a_link_in_the_place_of_what_says_that_all_is_there_is_not_followed(volume: Path, tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (volume / WHOLE).symlink_to(tmp_path / "host")
    _forget(volume)
    assert _names(volume) == [WHOLE]
    assert (tmp_path / "host").is_dir()


def test_what_was_shown_is_shown_once(volume: Path) -> None:
    (volume / WHOLE).mkdir()
    (volume / "etc").mkdir()
    with Staging(volume) as staging:
        assert publish_rest(staging)
    assert _names(volume) == [WHOLE, "etc"]
