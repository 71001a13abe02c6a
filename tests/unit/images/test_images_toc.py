"""Tables of contents from outside: what is accepted, and what is refused before anything is read by it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.images.blob import FileBlob
from ingot.images.fault import ImageFault
from ingot.images.zstd_chunked.position import CHECKSUM, FOOTER_SIZE, POSITION, Position
from ingot.images.zstd_chunked.toc import MOST_CHUNK, MOST_ENTRIES, parse_toc, read_toc

END = 10_000
DIGEST = f"sha256:{hashlib.sha256(b'x').hexdigest()}"


def chunk(**changes: Any) -> dict[str, Any]:
    return {"type": "chunk", "name": "disk/a", "chunkSize": 100, "chunkDigest": DIGEST} | changes


def table(**changes: Any) -> list[dict[str, Any]]:
    """A file of three chunks, whose first entry is changed."""
    first = chunk(type="reg", size=300, offset=1000, endOffset=1150) | changes
    return [first, chunk(offset=1050, chunkOffset=100), chunk(offset=1100, chunkOffset=200)]


def parse(entries: list[dict[str, Any]], version: int = 1) -> Any:
    return parse_toc("layer", json.dumps({"version": version, "entries": entries}).encode(), END)


def test_files_and_their_chunks() -> None:
    other = {"type": "dir", "name": "./disk/", "mode": 493, "modtime": "2020-01-01T00:00:00Z", "xattrs": {"a": "b"}}
    link = {"type": "symlink", "name": "/bin", "linkName": "usr/bin"}
    toc = parse([other, *table(), link])
    assert list(toc.members) == ["disk", "disk/a", "bin"]
    found = list(toc.pieces("disk/a").chunks())
    assert [(each.size, each.start, each.end) for each in found] == [
        (100, 1000, 1050),
        (100, 1050, 1100),
        (100, 1100, 1150),
    ]
    assert found[0].digest == hashlib.sha256(b"x").digest()


def test_zeros_have_no_chunk() -> None:
    entries = table()
    entries[1] |= {"chunkType": "zeros", "chunkDigest": ""}
    pieces = parse(entries).pieces("disk/a")
    assert [pieces.is_zeros(index) for index in range(len(pieces))] == [False, True, False]
    assert [each.start for each in pieces.chunks()] == [1000, 1100]


def test_a_file_of_one_chunk_has_the_digest_of_the_file() -> None:
    pieces = parse([{"type": "reg", "name": "a", "size": 10, "offset": 5, "endOffset": 30, "digest": DIGEST}]).pieces(
        "a"
    )
    assert [(each.size, each.start, each.end) for each in pieces.chunks()] == [(10, 5, 30)]


@pytest.mark.parametrize(
    ("index", "changes", "why"),
    [
        (0, {"size": 299}, "too large"),
        (0, {"size": 301}, "should have 301"),
        (0, {"size": 1 << 60}, "at most"),
        (0, {"endOffset": END + 1}, "chunks end at"),
        (0, {"endOffset": 1100}, "goes from byte"),
        (0, {"endOffset": 9000}, "compressed"),
        (1, {"chunkOffset": 50}, "not where"),
        (1, {"chunkOffset": 101}, "not where"),
        (1, {"chunkOffset": 0}, "not where"),
        (1, {"offset": 900}, "goes from byte"),
        (1, {"offset": 1000}, "goes from byte"),
        (2, {"offset": 1000}, "goes from byte"),
        (1, {"name": "disk/b"}, "is one of 'disk/b'"),
        (1, {"chunkDigest": "sha256:abc"}, "64 hexadecimal"),
        (1, {"chunkDigest": DIGEST.replace("sha256", "sha512")}, "64 hexadecimal"),
        (1, {"chunkSize": 0}, "not where"),
        (1, {"chunkSize": (1 << 63) - 1}, "not where"),
    ],
)
def test_chunks_that_cannot_be(index: int, changes: dict[str, Any], why: str) -> None:
    entries = table()
    entries[index] |= changes
    with pytest.raises(ImageFault, match=why) as fault:
        parse(entries).pieces("disk/a")
    assert fault.value.reason == "BadTable"


def test_a_chunk_that_is_before_zeros_and_after_them_is_refused() -> None:
    entries = table()
    entries[0] |= {"chunkType": "zeros", "offset": 1100, "endOffset": 1200}
    with pytest.raises(ImageFault, match="back to"):
        parse(entries).pieces("disk/a")


def test_a_large_chunk_is_told_apart() -> None:
    entry = {"type": "reg", "name": "a", "size": MOST_CHUNK + 1, "offset": 5, "endOffset": 30, "digest": DIGEST}
    with pytest.raises(ImageFault) as fault:
        parse([entry]).pieces("a")
    assert fault.value.reason == "LargeChunk"


@pytest.mark.parametrize("name", ["../a", "disk/../../a", "a/..", "disk/\0", "x" * 5000])
def test_names_that_lead_elsewhere(name: str) -> None:
    with pytest.raises(ImageFault):
        parse(table(name=name))


def test_the_same_name_twice() -> None:
    others = [{"type": "reg", "name": "etc/\ufffd", "size": 0}] * 2
    toc = parse([*table(), *others])
    assert len(toc.pieces("disk/a")) == 3
    toc = parse([*table(), {"type": "reg", "name": "./disk//a", "size": 0}])
    with pytest.raises(ImageFault, match="twice"):
        toc.pieces("disk/a")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 1}',
        b'{"version": 1, "entries": [{"type": 1, "name": "a"}]}',
        b'{"version": 1, "entries": [{"type": "reg", "name": "a", "size": -1}]}',
        b'{"version": 1, "entries": [{"type": "reg", "name": "a", "size": 1e300}]}',
        b'{"version": 1, "entries": [{"type": "reg", "name": "a", "size": 99999999999999999999999}]}',
        b'{"version": 2, "entries": []}',
        b'{"version": 1, "entries": [{"type": "\xff\xfe", "name": "a"}]}',
        b'{"version": 1, "entries": ' + b"[" * 100_000,
        b'{"version": 1, "entries": [], "other": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_table(data: bytes) -> None:
    with pytest.raises(ImageFault):
        parse_toc("layer", data, END)


def test_more_entries_than_any_image_has() -> None:
    data = b'{"version": 1, "entries": [' + b'{"type":"","name":""},' * (2 * MOST_ENTRIES) + b"{}]}"
    with pytest.raises(ImageFault, match=f"more than {MOST_ENTRIES} entries"):
        parse_toc("layer", data, END)


def write(path: Path, plain: bytes, size: int | None = None) -> dict[str, str]:
    """A blob that is a table only; its annotations."""
    packed = zstd.compress(plain)
    path.write_bytes(packed)
    where = f"0:{len(packed)}:{len(plain) if size is None else size}:1"
    return {POSITION: where, CHECKSUM: f"sha256:{hashlib.sha256(packed).hexdigest()}"}


def test_a_table_is_verified(tmp_path: Path) -> None:
    good = b'{"version": 1, "entries": []}'
    annotations = write(tmp_path / "blob", good)
    with FileBlob(tmp_path / "blob") as blob:
        assert read_toc(blob, annotations).members == {}
        with pytest.raises(ImageFault) as fault:
            read_toc(blob, annotations | {CHECKSUM: DIGEST})
        assert fault.value.reason == "WrongDigest"


@pytest.mark.parametrize("size", [1, 28, 30, 150 << 20])
def test_a_table_must_have_its_size(tmp_path: Path, size: int) -> None:
    annotations = write(tmp_path / "blob", b'{"version": 1, "entries": []}', size)
    with FileBlob(tmp_path / "blob") as blob, pytest.raises(ImageFault, match="does not inflate"):
        read_toc(blob, annotations)


def test_a_bomb_is_not_inflated(tmp_path: Path) -> None:
    annotations = write(tmp_path / "blob", bytes(200 << 20), 1000)
    with FileBlob(tmp_path / "blob") as blob, pytest.raises(ImageFault, match="does not inflate"):
        read_toc(blob, annotations)


@pytest.mark.parametrize(
    "where",
    [
        "",
        "1:2:3",
        "1:2:3:2",
        "-1:2:3:1",
        "0:0:10:1",
        "0:10:0:1",
        "0:10:999999999999:1",
        "99999999999999:10:10:1",
        "9223372036854775807:9223372036854775807:10:1",
        "9" * 4000 + ":1:1:1",
        "0:10:10:1:1",
        "\u0661:10:10:1",
    ],
)
def test_annotations_that_cannot_be(where: str) -> None:
    with pytest.raises(ImageFault):
        Position.from_annotations("layer", {POSITION: where, CHECKSUM: DIGEST}, 1000)


def test_checksums_that_cannot_be() -> None:
    for checksum in ("", "sha256:", "md5:" + "a" * 32, DIGEST.upper(), DIGEST + "0"):
        with pytest.raises(ImageFault):
            Position.from_annotations("layer", {POSITION: "0:10:10:1", CHECKSUM: checksum}, 1000)


def test_footers_that_point_outside() -> None:
    good = Position(100, 200, 300).footer()
    assert Position.from_footer("layer", good, 1000) == Position(100, 200, 300)
    for bad in (Position(900, 200, 300), Position(100, 1 << 40, 300), Position(100, 200, 1 << 40), Position(1, 0, 3)):
        with pytest.raises(ImageFault):
            Position.from_footer("layer", bad.footer(), 1000)
    for bad_bytes in (b"", good[1:], b"x" + good[1:], good[:-1] + b"?", bytes(FOOTER_SIZE)):
        with pytest.raises(ImageFault, match="does not end"):
            Position.from_footer("layer", bad_bytes, 1000)


_NUMBERS = st.integers(min_value=-2, max_value=1200) | st.integers(min_value=0, max_value=1 << 64)
_CHANGES = st.dictionaries(
    st.sampled_from(["size", "offset", "endOffset", "chunkSize", "chunkOffset"]), _NUMBERS, max_size=2
) | st.dictionaries(st.sampled_from(["type", "name", "chunkType", "chunkDigest"]), st.text(max_size=8), max_size=1)


@settings(max_examples=200, deadline=None)
@given(st.integers(min_value=0, max_value=2), _CHANGES)
def test_whatever_is_accepted_is_whole_and_within_the_blob(index: int, changes: dict[str, Any]) -> None:
    entries = table()
    entries[index] |= changes
    try:
        toc = parse(entries)
        files = {name: toc.pieces(name) for name, entry in toc.members.items() if entry.type == "reg"}
    except ImageFault:
        return
    for name, pieces in files.items():
        assert pieces.size == toc.members[name].size
        places = [(each.start, each.end) for each in pieces.chunks()]
        assert all(0 <= start < end <= END for start, end in places)
        assert places == sorted(places)
