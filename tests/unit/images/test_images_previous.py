"""The disk of the version before: what it has elsewhere is found by what was fetched, and within bounds."""

import hashlib
import os
import random
from pathlib import Path

from ingot.images.chunk import CHUNK_SIZE, Chunk
from ingot.images.pipeline.previous import Previous, open_previous

BLOCK = 4096


def a_chunk(data: bytes) -> Chunk:
    return Chunk(hashlib.sha256(data).digest(), len(data), 0, 1)


def lesson(previous: Previous, data: bytes) -> None:
    previous.learn([a_chunk(data)], [memoryview(data)])


def test_what_was_moved_together_is_found_by_one_of_it(tmp_path: Path) -> None:
    content = random.Random(1).randbytes(8 * CHUNK_SIZE)  # noqa: S311 - the same bytes every time
    pieces = [content[at : at + CHUNK_SIZE] for at in range(0, len(content), CHUNK_SIZE)]
    (tmp_path / "old").write_bytes(bytes(5 * BLOCK) + content)
    with open_previous(tmp_path / "old", device=False) as previous:
        assert previous is not None
        previous.expect((index * CHUNK_SIZE, a_chunk(piece)) for index, piece in enumerate(pieces))
        assert [previous.get(a_chunk(piece)) for piece in pieces] == [None] * 8
        lesson(previous, pieces[2])
        assert [previous.get(a_chunk(piece)) for piece in pieces] == pieces
        place = previous.find(a_chunk(pieces[3]).digest)
        assert place is not None
        assert place.offset == 3 * CHUNK_SIZE + 5 * BLOCK
        os.truncate(tmp_path / "old", CHUNK_SIZE)
        assert previous.get(a_chunk(pieces[3])) is None


def test_a_disk_that_has_every_chunk_elsewhere_keeps_nobody_busy(tmp_path: Path) -> None:
    dice = random.Random(2)  # noqa: S311 - the same bytes every time
    pieces = [dice.randbytes(CHUNK_SIZE) for _ in range(160)]
    with (tmp_path / "old").open("wb") as file:
        for index, piece in enumerate(pieces):
            file.seek(index * 2 * CHUNK_SIZE)
            file.write(piece)
    with open_previous(tmp_path / "old", device=False) as previous:
        assert previous is not None
        previous.expect((index * CHUNK_SIZE, a_chunk(piece)) for index, piece in enumerate(pieces))
        for piece in pieces:
            lesson(previous, piece)
        assert len(previous.shifts) == 8
        known = previous.shifts
        for piece in pieces[:10]:
            lesson(previous, piece)
        assert previous.shifts == known


def test_what_is_no_disk_of_a_volume_is_none(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").touch()
    for name in ("link", "nothing", "."):
        with open_previous(tmp_path / name, device=False) as previous:
            assert previous is None
