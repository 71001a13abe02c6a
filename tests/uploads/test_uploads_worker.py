"""The pod's end of an upload: one at a time, gone on with after a cut and after kill -9, whole or not there."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from uploads.curl import curl
from uploads.disks_to_send import MIB, a_disk, as_gzip, as_qcow2, as_xz
from uploads.worker_process import UploadWorker

SIZE = 64 * MIB


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[UploadWorker]:
    with UploadWorker(tmp_path, size=SIZE) as running:
        yield running


def padded(content: bytes) -> bytes:
    return content + bytes(SIZE - len(content))


def holds(worker: UploadWorker, content: bytes) -> bool:
    """Whether the volume has exactly the disk, grown to its size."""
    assert sorted(path.name for path in worker.target.parent.iterdir()) == ["disk.img"]
    return worker.target.read_bytes() == padded(content)


def offset(worker: UploadWorker) -> int:
    found = curl(worker.url, worker.word, "--head")
    assert found.code == 200
    return int(found.headers["upload-offset"])


def beginning(worker: UploadWorker, file: Path, length: int, total: int | None = None) -> None:
    """Sends the first bytes of a file that is said to be whole, and breaks the connection when they are there."""
    total = file.stat().st_size if total is None else total
    tls = ssl._create_unverified_context()  # noqa: S323, the certificate is not what this is about
    host, port = worker.url.removeprefix("https://").rstrip("/").split(":")
    with socket.create_connection((host, int(port))) as raw, tls.wrap_socket(raw) as stream:
        lines = ["PUT / HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {worker.word}", f"Content-Length: {total}"]
        with file.open("rb") as content:
            stream.sendall("\r\n".join([*lines, "", ""]).encode() + content.read(length))
        _until(lambda: offset(worker) == length)


@pytest.mark.parametrize("packed", [None, as_qcow2, as_gzip, as_xz])
def test_what_curl_sends_becomes_the_disk_and_the_pod_is_done(worker: UploadWorker, tmp_path: Path, packed) -> None:
    """B8."""
    content = a_disk(tmp_path / "disk.raw")
    file = packed(tmp_path / "disk.raw") if packed else tmp_path / "disk.raw"
    answer = curl(worker.url, worker.word, "--upload-file", str(file))
    assert answer.code == 200, answer
    assert worker.ended() == 0
    assert holds(worker, content)
    assert worker.reported()["virtualSize"] == SIZE


def test_the_volume_has_its_holes_still(worker: UploadWorker, tmp_path: Path) -> None:
    a_disk(tmp_path / "disk.raw")
    assert curl(worker.url, worker.word, "--upload-file", str(tmp_path / "disk.raw")).code == 200
    assert worker.target.stat().st_blocks * 512 < 24 * MIB


def test_a_body_of_unknown_length_is_taken(worker: UploadWorker, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    sent = subprocess.run(["cat", tmp_path / "disk.raw"], stdout=subprocess.PIPE, check=True)
    ran = subprocess.run(
        ["curl", "-sSk", "-w", "%{http_code}", "-H", f"Authorization: Bearer {worker.word}", "-T", "-", worker.url],
        input=sent.stdout,
        capture_output=True,
        check=True,
    )
    assert ran.stdout == b"200"
    assert worker.ended() == 0
    assert holds(worker, content)


def test_a_file_in_a_form_is_taken(worker: UploadWorker, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    answer = curl(f"{worker.url}form", worker.word, "--form", "name=disk", "--form", f"file=@{tmp_path / 'disk.raw'}")
    assert answer.code == 200, answer
    assert worker.ended() == 0
    assert holds(worker, content)


@pytest.mark.parametrize("packed", [None, as_qcow2])
def test_a_cut_upload_goes_on_where_it_was(worker: UploadWorker, tmp_path: Path, packed) -> None:
    """B8: every byte that came before the cut counts, and nothing is there under its name until all have come."""
    content = a_disk(tmp_path / "disk.raw")
    file = packed(tmp_path / "disk.raw") if packed else tmp_path / "disk.raw"
    beginning(worker, file, 7 * MIB)
    assert not worker.target.exists()
    answer = curl(worker.url, worker.word, "--continue-at", str(7 * MIB), "--upload-file", str(file))
    assert answer.code == 200, answer
    assert worker.ended() == 0
    assert holds(worker, content)


@pytest.mark.parametrize("packed", [None, as_qcow2, as_gzip])
def test_a_killed_worker_goes_on_where_its_journal_says(tmp_path: Path, packed) -> None:
    """B8: kill -9 in the middle."""
    content = a_disk(tmp_path / "disk.raw", data=40 * MIB)
    file = packed(tmp_path / "disk.raw") if packed else tmp_path / "disk.raw"
    worker = UploadWorker(tmp_path, size=SIZE)
    with worker:
        beginning(worker, file, 9 * MIB)
        # The journal is written when bytes come, a quarter of a second after the first ones at the earliest.
        time.sleep(0.3)
        half = tmp_path / "half"
        half.write_bytes(file.read_bytes()[9 * MIB : 18 * MIB])
        said = f"Content-Range: bytes {9 * MIB}-{18 * MIB - 1}/{file.stat().st_size}"
        answer = curl(worker.url, worker.word, "--header", said, "--upload-file", str(half))
        assert (answer.code, answer.headers["upload-offset"]) == (202, str(18 * MIB)), answer
        _until((worker.target.parent / ".disk.img.ingot-journal").exists)
        worker.kill()
    with worker:
        found = offset(worker)
        assert 4 * MIB <= found <= 18 * MIB
        answer = curl(worker.url, worker.word, "--continue-at", str(found), "--upload-file", str(file))
        assert answer.code == 200, answer
        assert worker.ended() == 0
    assert holds(worker, content)


def test_a_new_upload_takes_the_place_of_one_that_was_cut(worker: UploadWorker, tmp_path: Path) -> None:
    a_disk(tmp_path / "other.raw", seed=2)
    content = a_disk(tmp_path / "disk.raw", size=40 * MIB)
    beginning(worker, tmp_path / "other.raw", 20 * MIB)
    assert curl(worker.url, worker.word, "--upload-file", str(tmp_path / "disk.raw")).code == 200
    assert worker.ended() == 0
    assert holds(worker, content)


def test_a_part_that_does_not_fit_is_refused_and_the_place_is_told(worker: UploadWorker, tmp_path: Path) -> None:
    file = tmp_path / "disk.raw"
    content = a_disk(file)
    beginning(worker, file, 5 * MIB)
    answer = curl(worker.url, worker.word, "--continue-at", str(6 * MIB), "--upload-file", str(file))
    assert (answer.code, answer.headers["upload-offset"]) == (409, str(5 * MIB)), answer
    wrong = tmp_path / "longer.raw"
    wrong.write_bytes(content + b"x")
    answer = curl(worker.url, worker.word, "--continue-at", str(5 * MIB), "--upload-file", str(wrong))
    assert answer.code == 409
    assert f"has {len(content)} bytes, and not {len(content) + 1}" in answer.body
    answer = curl(worker.url, worker.word, "--header", "Content-Range: bytes 9-1/x", "--upload-file", str(file))
    assert answer.code == 400
    assert offset(worker) == 5 * MIB


def test_two_at_once_are_refused(worker: UploadWorker, tmp_path: Path) -> None:
    """B8."""
    file = tmp_path / "disk.raw"
    content = a_disk(file)
    slow = [
        "curl",
        "-sSk",
        "--limit-rate",
        "8M",
        "-H",
        f"Authorization: Bearer {worker.word}",
        "-T",
        str(file),
        worker.url,
    ]
    with subprocess.Popen(slow) as first:
        _until(lambda: offset(worker) > 0)
        second = curl(worker.url, worker.word, "--upload-file", str(file))
        assert second.code == 503, second
        assert "another upload to the volume is under way: try again when it has ended" in second.body
        assert int(second.headers["retry-after"]) > 0
        assert first.wait(60) == 0
    assert worker.ended() == 0
    assert holds(worker, content)


def test_who_does_not_know_the_word_gets_nowhere(worker: UploadWorker, tmp_path: Path) -> None:
    a_disk(tmp_path / "disk.raw")
    for word in ("", "wrong", worker.word[:-1], f"{worker.word}x", "ü"):
        for options in (("--head",), ("--upload-file", str(tmp_path / "disk.raw"))):
            assert curl(worker.url, word, *options).code == 401
    assert offset(worker) == 0


@pytest.mark.parametrize(
    ("content", "code", "why"),
    [
        (os.urandom(SIZE + 1), 413, "TooLarge"),
        (b"QFI\xfb\0\0\0\3" + bytes(2000), 400, ""),
        (b"\x1f\x8b\x08" + os.urandom(4 * MIB), 400, ""),
        (
            b"<!DOCTYPE html><html>" + bytes(2000),
            400,
            "it is a web page (HTML) and no disk: give the image of the disk",
        ),
    ],
)
def test_what_is_no_disk_is_refused_and_leaves_nothing(
    worker: UploadWorker, tmp_path: Path, content: bytes, code: int, why: str
) -> None:
    (tmp_path / "bad").write_bytes(content)
    answer = curl(worker.url, worker.word, "--upload-file", str(tmp_path / "bad"))
    assert answer.code == code, answer
    assert why in answer.body
    assert str(tmp_path) not in answer.body
    assert list(worker.target.parent.iterdir()) == []
    good = a_disk(tmp_path / "disk.raw")
    assert curl(worker.url, worker.word, "--upload-file", str(tmp_path / "disk.raw")).code == 200
    assert holds(worker, good)


def test_a_file_that_is_cut_off_is_said_to_be(worker: UploadWorker, tmp_path: Path) -> None:
    a_disk(tmp_path / "disk.raw")
    cut = tmp_path / "cut.qcow2"
    cut.write_bytes(as_qcow2(tmp_path / "disk.raw").read_bytes()[: 2 * MIB])
    answer = curl(worker.url, worker.word, "--upload-file", str(cut))
    assert answer.code == 400, answer
    assert f"the file is cut off: it ends at byte {2 * MIB}, and lacks" in answer.body
    _until(lambda: worker.progress().get("refused", "") in answer.body)
    told = worker.progress()
    assert (told["done"], told["total"], told["rate"]) == (0, 0, 0)
    assert "the file is cut off" in str(told["refused"])


def test_the_files_of_an_archive_are_unpacked(tmp_path: Path) -> None:
    """B8: contentType archive, gone on with after a cut."""
    (tmp_path / "files").mkdir()
    for name in ("one", "two"):
        (tmp_path / "files" / name).write_bytes(os.urandom(3 * MIB))
    packed = tmp_path / "files.tar.gz"
    subprocess.run(["tar", "-C", tmp_path / "files", "-czf", packed, "."], check=True)
    with UploadWorker(tmp_path, "--content-type", "archive", size=SIZE) as worker:
        beginning(worker, packed, MIB)
        assert not (worker.target.parent / "one").exists()
        answer = curl(worker.url, worker.word, "--continue-at", str(MIB), "--upload-file", str(packed))
        assert answer.code == 200, answer
        assert worker.ended() == 0
    for name in ("one", "two"):
        assert (worker.target.parent / name).read_bytes() == (tmp_path / "files" / name).read_bytes()
    assert sorted(path.name for path in worker.target.parent.iterdir()) == ["one", "two"]


def test_what_is_no_archive_is_refused_where_one_is_wanted(tmp_path: Path) -> None:
    a_disk(tmp_path / "disk.raw")
    with UploadWorker(tmp_path, "--content-type", "archive", size=SIZE) as worker:
        answer = curl(worker.url, worker.word, "--upload-file", str(tmp_path / "disk.raw"))
        assert answer.code == 400, answer
        assert "tar" in answer.body
        assert list(worker.target.parent.iterdir()) == []


def test_a_port_that_is_taken_is_told_and_tried_again(tmp_path: Path) -> None:
    worker = UploadWorker(tmp_path, size=SIZE)
    port = int(worker.url.rstrip("/").rpartition(":")[2])
    with socket.create_server(("0.0.0.0", port)):  # noqa: S104, as a stranger does
        assert worker.failed() == 1
    report = worker.reported()
    assert (report["reason"], report["retry"]) == ("AddressUnavailable", True)
    cure = f"end what listens on port {port} of the node"
    assert report["message"] == (
        f"the volume: no upload can be taken at 127.0.0.1 port {port}: address already in use; {cure}"
    )
    assert "Traceback" not in worker.log.read_text()
    with worker:
        assert offset(worker) == 0


def test_progress_that_cannot_be_asked_for_stops_no_upload(tmp_path: Path) -> None:
    worker = UploadWorker(tmp_path, size=SIZE)
    content = a_disk(tmp_path / "disk.raw")
    with socket.create_server(("0.0.0.0", worker.progress_port)), worker:  # noqa: S104, as a stranger does
        assert curl(worker.url, worker.word, "--upload-file", str(tmp_path / "disk.raw")).code == 200
        assert worker.ended() == 0
    assert holds(worker, content)
    assert worker.log.read_text().count("progress cannot be asked for") == 1


def test_progress_tells_bytes(worker: UploadWorker, tmp_path: Path) -> None:
    a_disk(tmp_path / "disk.raw")
    beginning(worker, tmp_path / "disk.raw", 10 * MIB)
    _until(lambda: worker.progress()["done"] >= 9 * MIB)
    assert worker.progress()["total"] == 48 * MIB


def test_progress_is_told_again_by_a_worker_that_was_started_again(tmp_path: Path) -> None:
    """B8: as soon as it knows where the upload was, though nobody brings a byte."""
    worker = UploadWorker(tmp_path, size=SIZE)
    file = tmp_path / "disk.raw"
    a_disk(file, data=40 * MIB)
    with worker:
        beginning(worker, file, 9 * MIB)
        time.sleep(0.3)
        more = tmp_path / "more"
        more.write_bytes(file.read_bytes()[9 * MIB : 18 * MIB])
        said = f"Content-Range: bytes {9 * MIB}-{18 * MIB - 1}/{48 * MIB}"
        assert curl(worker.url, worker.word, "--header", said, "--upload-file", str(more)).code == 202
        _until((worker.target.parent / ".disk.img.ingot-journal").exists)
        worker.kill()
    with worker:
        _until(lambda: worker.progress()["total"] == 48 * MIB)
        assert worker.progress()["done"] == offset(worker) >= 4 * MIB


def _until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
