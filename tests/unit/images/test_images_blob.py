"""Files as blobs, and blobs as content."""

import os
from pathlib import Path

import pytest

from ingot.images.blob import BlobContent, ByteStream, FileBlob
from ingot.images.content import Extent, read
from ingot.images.fault import ImageFault


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "blob"
    path.write_bytes(bytes(range(256)) * 10)
    return path


def test_a_file_by_ranges_and_from_front_to_back(file: Path) -> None:
    data = file.read_bytes()
    with FileBlob(file) as blob:
        assert (blob.size, blob.ranged, blob.subject) == (2560, True, str(file))
        assert blob.read(100, 300) == data[100:400]
        assert blob.read(2560, 0) == b""
        with blob.stream(50) as stream:
            found = bytearray()
            buffer = memoryview(bytearray(999))
            while count := stream.readinto(buffer):
                found += buffer[:count]
            assert found == data[50:]
            assert stream.position == 2560


@pytest.mark.parametrize(("start", "length"), [(2500, 61), (-1, 5), (2561, 0), (0, -1)])
def test_ranges_that_are_not_within(file: Path, start: int, length: int) -> None:
    with FileBlob(file) as blob, pytest.raises(ImageFault) as caught:
        blob.read(start, length)
    assert caught.value.reason == "OutOfRange"


def test_a_file_that_becomes_shorter(file: Path) -> None:
    with FileBlob(file) as blob:
        os.truncate(file, 100)
        with pytest.raises(ImageFault) as caught:
            blob.read(50, 100)
        assert caught.value.reason == "Truncated"
        with blob.stream(100) as stream, pytest.raises(ImageFault, match="ends at byte 100"):
            stream.readinto(memoryview(bytearray(10)))


def test_a_blob_as_content(file: Path) -> None:
    with FileBlob(file) as blob:
        content = BlobContent(blob)
        assert content.size == 2560
        assert read(content, 2550, 10) == bytes(range(246, 256))
        assert list(content.extents(10, 20)) == [Extent(10, 10, True, 10)]
        assert list(content.extents(10, 10)) == []


class Unranged:
    subject, size, ranged = "a stream", 5, False

    def readinto(self, start: int, buffer: memoryview) -> None:
        raise AssertionError

    def read(self, start: int, length: int) -> bytes:
        raise AssertionError

    def stream(self, start: int = 0) -> ByteStream:
        raise AssertionError


def test_a_blob_without_ranges_is_no_content() -> None:
    with pytest.raises(ImageFault) as caught:
        BlobContent(Unranged())
    assert caught.value.reason == "NoRanges"
