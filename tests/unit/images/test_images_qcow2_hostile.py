"""qcow2 images that are damaged or made to do harm: none leads elsewhere, none is read wrongly."""

import os
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from qcow2_images import COMPRESSED, HEADER, by_qemu, by_reader, by_stream, create, fields, noise, patch, write

from ingot.images.content import FileContent, PartContent
from ingot.images.fault import ImageFault
from ingot.images.qcow2.reader import Qcow2
from ingot.images.qcow2.stream import Qcow2Stream

CLUSTER = 1 << 16
MIB = 1 << 20
SIZE = 2 * MIB
INCOMPATIBLE, REFCOUNT_ORDER, LENGTH, COMPRESSION_TYPE = 72, 96, 100, 104


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Four plain clusters at the beginning of the disk, and four compressed ones at 1 MiB."""
    directory = tmp_path_factory.mktemp("hostile")
    source = noise(directory / "noise", 4 * CLUSTER)
    path = create(directory / "image.qcow2", SIZE)
    return write(path, f"write -s {source} 0 256k", f"write -c -s {source} 1M 256k").read_bytes()


@pytest.fixture
def image(tmp_path: Path, template: bytes) -> Path:
    path = tmp_path / "image.qcow2"
    path.write_bytes(template)
    return path


def refused(path: Path, *words: str) -> None:
    """Both ways to read refuse the image, and say why."""
    for way in (by_reader, by_stream):
        with pytest.raises(ImageFault) as caught:
            way(path)
        assert all(word in str(caught.value) for word in words), str(caught.value)


def truncated(path: Path) -> None:
    for way in (by_reader, by_stream):
        with pytest.raises(ImageFault) as caught:
            way(path)
        assert caught.value.reason == "Truncated"


def entry(path: Path, cluster: int, change: Callable[[int], int]) -> Path:
    """Changes the entry of a cluster of the disk in the first L2 table."""
    _, l2 = fields(path)
    (old,) = struct.unpack_from(">Q", path.read_bytes(), l2 + 8 * cluster)
    return patch(path, l2 + 8 * cluster, "Q", change(old))


HEADERS = [
    (0, "4s", b"QFI\xfa", "not a qcow2"),
    (4, "I", 4, "version 4"),
    (4, "I", 1, "version 1"),
    (8, "Q", 0x200, "backing file"),
    (20, "I", 8, "2^8"),
    (20, "I", 22, "2^22"),
    (20, "I", 0xFFFFFFFF, "must be 2^9 to 2^21"),
    (24, "Q", 0, "virtual size of 0"),
    (24, "Q", 1 << 63, "virtual size"),
    (24, "Q", 1 << 40, "L1 table of 1 entries"),
    (32, "I", 1, "decrypt it with its key, by `qemu-img convert --object secret"),
    (32, "I", 2, "decrypt it with its key, by `qemu-img convert --object secret"),
    (36, "I", 0, "L1 table of 0 entries"),
    (36, "I", 1 << 23, "too large"),
    (40, "Q", 0, "L1 table at byte 0"),
    (40, "Q", 3 * CLUSTER + 8, "not the start of a cluster"),
    (40, "Q", 1 << 40, "within its L1 table|some of its tables"),
    (60, "I", 1 << 20, "too large"),
    (INCOMPATIBLE, "Q", 2, "corrupt"),
    (INCOMPATIBLE, "Q", 4, "data file"),
    (INCOMPATIBLE, "Q", 8, "two things"),
    (INCOMPATIBLE, "Q", 32, "not known (0x20)"),
    (REFCOUNT_ORDER, "I", 7, "2^7"),
    (LENGTH, "I", 96, "header of 96"),
    (LENGTH, "I", CLUSTER + 8, "header of"),
    (COMPRESSION_TYPE, "B", 2, "method that is not known (2)"),
    (COMPRESSION_TYPE, "B", 1, "two things"),
]


@pytest.mark.parametrize(("offset", "form", "value", "words"), HEADERS, ids=[str(row[3]) for row in HEADERS])
def test_a_header_that_is_refused(image: Path, offset: int, form: str, value: int, words: str) -> None:
    patch(image, offset, form, value)
    for way in (by_reader, by_stream):
        with pytest.raises(ImageFault) as caught:
            way(image)
        assert any(word in str(caught.value) for word in words.split("|")), str(caught.value)


def test_a_file_that_ends_in_its_header(image: Path) -> None:
    for length in (0, 3, 71, 100):
        os.truncate(image, length)
        for way in (by_reader, by_stream):
            with pytest.raises(ImageFault):
                way(image) if length else Qcow2(FileContent(image))


def test_a_disk_that_is_larger_than_the_target(image: Path, tmp_path: Path) -> None:
    with pytest.raises(ImageFault, match=f"at most {MIB} fit"):
        Qcow2(FileContent(image), limit=MIB)
    stream = Qcow2Stream(lambda start, data: None, tmp_path / "spool", limit=MIB)
    with pytest.raises(ImageFault, match=f"at most {MIB} fit"):
        stream.feed(image.read_bytes())
    stream.close()


def test_more_tables_than_we_take(tmp_path: Path) -> None:
    path = create(tmp_path / "fine.qcow2", 33 << 30, cluster=512)
    for way in (by_reader, by_stream):
        with pytest.raises(ImageFault, match="make its clusters larger"):
            way(path)


def test_dirty_is_read_as_qemu_does(image: Path) -> None:
    expected = by_qemu(image)
    patch(image, INCOMPATIBLE, "Q", 1)
    assert by_reader(image) == by_stream(image) == expected


def test_a_size_in_bytes_is_read_as_qemu_does(image: Path) -> None:
    patch(image, 24, "Q", SIZE - 100)
    assert by_reader(image) == by_stream(image) == by_qemu(image)
    refused(patch(image, 24, "Q", 511), "virtual size")


def test_reference_counts_are_not_believed(image: Path) -> None:
    expected = by_qemu(image)
    table, _ = HEADER.unpack_from(image.read_bytes())[9:11]
    (block,) = struct.unpack_from(">Q", image.read_bytes(), table)
    patch(image, block, "8H", *range(9, 17))
    assert by_reader(image) == by_stream(image) == by_qemu(image) == expected


def test_an_l2_table_where_another_table_is(image: Path) -> None:
    l1, _ = fields(image)
    refused(patch(image, l1, "Q", l1), "where another table is")


def test_an_l2_table_that_is_used_twice(tmp_path: Path) -> None:
    path = create(tmp_path / "two.qcow2", 2 * MIB, cluster=4096)
    assert HEADER.unpack_from(path.read_bytes())[7] == 1
    path = create(tmp_path / "two.qcow2", 4 * MIB, cluster=4096)
    write(path, "write -P 1 0 4k")
    l1, l2 = fields(path)
    refused(patch(path, l1 + 8, "Q", l2), "where another table is")


def test_an_l2_table_at_no_cluster(image: Path) -> None:
    l1, l2 = fields(image)
    refused(patch(image, l1, "Q", l2 + 512), "not at the start of a cluster")


def test_an_l2_table_beyond_the_end(image: Path) -> None:
    l1, _ = fields(image)
    truncated(patch(image, l1, "Q", 1 << 40))


def test_data_in_a_table(image: Path) -> None:
    l1, l2 = fields(image)
    for place in (l1, l2):
        refused(entry(image, 1, lambda old, place=place: place), "in a table")
        refused(entry(image, 1, lambda old, place=place: COMPRESSED | place), "in a table")


def test_a_cluster_at_no_cluster(image: Path) -> None:
    refused(entry(image, 2, lambda old: old + 512), "not at a cluster")


def test_a_cluster_beyond_the_end(image: Path) -> None:
    truncated(entry(image, 2, lambda old: 1 << 40))


def test_a_zero_cluster_of_version_2(tmp_path: Path) -> None:
    path = write(create(tmp_path / "v2.qcow2", SIZE, version=2), "write -P 1 0 64k")
    refused(entry(path, 0, lambda old: old | 1), "version 2")


def test_extended_entries_that_say_two_things(tmp_path: Path) -> None:
    path = create(tmp_path / "x.qcow2", SIZE, options="extended_l2=on")
    _, l2 = fields(write(path, "write -P 1 0 4k"))
    for bitmap in (1 << 32 | 1, 1 << 33 | 3):
        refused(patch(path, l2 + 8, "Q", bitmap), "says two things")
    refused(patch(path, l2, "QQ", 0, 1), "says two things")
    refused(patch(path, 20, "I", 13), "2^14 or more")


def test_two_places_of_the_disk_may_share_a_cluster(image: Path) -> None:
    _, l2 = fields(image)
    (shared,) = struct.unpack_from(">Q", image.read_bytes(), l2)
    (packed,) = struct.unpack_from(">Q", image.read_bytes(), l2 + 8 * 16)
    entry(image, 7, lambda old: shared)
    entry(image, 9, lambda old: packed)
    assert by_reader(image) == by_stream(image, 10_000) == by_qemu(image)


def test_a_disk_that_is_one_cluster_over_and_over_takes_no_more_than_its_size(tmp_path: Path) -> None:
    path = write(create(tmp_path / "bomb.qcow2", 8 * MIB), "write -P 5 0 64k")
    _, l2 = fields(path)
    (shared,) = struct.unpack_from(">Q", path.read_bytes(), l2)
    patch(path, l2, "128Q", *[shared] * 128)
    assert by_reader(path) == by_stream(path) == bytes([5]) * (8 * MIB)


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -12)
    return packer.compress(data) + packer.flush()


def _repack(image: Path, packed: bytes) -> Path:
    """Puts other bytes where the first compressed cluster is, in a place of their own at the end."""
    end = -(-image.stat().st_size // CLUSTER) * CLUSTER
    patch(image, end, f"{-(-len(packed) // 512) * 512}s", packed)
    return entry(image, 16, lambda old: COMPRESSED | (len(packed) - 1) // 512 << 54 | end)


def test_a_compressed_cluster_that_is_right(image: Path) -> None:
    _repack(image, _deflated(b"right" * 13107 + b"!"))
    assert by_reader(image) == by_stream(image, 999) == by_qemu(image)


@pytest.mark.parametrize("size", [0, 1, CLUSTER - 1, CLUSTER + 1, 4 * MIB])
def test_a_compressed_cluster_of_another_size(image: Path, size: int) -> None:
    refused(_repack(image, _deflated(bytes([3]) * size)), "does not unpack to 65536 bytes")


@pytest.mark.parametrize("size", [0, CLUSTER - 1, CLUSTER, CLUSTER + 1, 4 * MIB])
def test_a_cluster_by_zstd_of_any_size(tmp_path: Path, size: int) -> None:
    image = create(tmp_path / "z.qcow2", SIZE, options="compression_type=zstd")
    write(image, "write -c -P 1 1M 64k")
    packed = zstd.compress(bytes([3]) * size)
    _repack(image, packed)
    if size == CLUSTER:
        assert by_reader(image) == by_stream(image, 999) == by_qemu(image)
    else:
        refused(image, "does not unpack to 65536 bytes")
    refused(_repack(image, packed[:-1]), "does not unpack")
    refused(_repack(image, b"garbage"), "does not unpack")


def test_a_compressed_cluster_of_garbage(image: Path) -> None:
    _, l2 = fields(image)
    (packed,) = struct.unpack_from(">Q", image.read_bytes(), l2 + 8 * 16)
    patch(image, packed & (1 << 54) - 1, "4096s", bytes([0xFF]) * 4096)
    refused(image, "does not unpack")


def test_a_compressed_cluster_whose_sectors_go_beyond_the_end(image: Path) -> None:
    truncated(entry(image, 16, lambda old: old | 0xFF << 54))
    truncated(entry(image, 16, lambda old: COMPRESSED | 1 << 50))


def test_the_last_cluster_may_be_cut_where_only_zeros_follow(tmp_path: Path) -> None:
    path = write(create(tmp_path / "cut.qcow2", SIZE), "write -P 1 0 4k")
    os.truncate(path, 5 * CLUSTER + 4096)
    assert by_reader(path) == by_stream(path, 6000) == by_qemu(path)


def test_an_image_that_is_cut(image: Path) -> None:
    whole = image.stat().st_size
    for length in (whole - CLUSTER, 7 * CLUSTER, 5 * CLUSTER, 4 * CLUSTER + 100, 3 * CLUSTER + 4, CLUSTER):
        os.truncate(image, length)
        for way in (by_reader, by_stream):
            with pytest.raises(ImageFault) as caught:
                way(image)
            assert caught.value.reason in ("Truncated", "BadCluster")


def test_a_read_that_is_cut_below_is_an_error(image: Path) -> None:
    whole = FileContent(image)
    with pytest.raises(ImageFault):
        Qcow2(PartContent(whole, 0, 3 * CLUSTER))
    whole.close()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 24), st.sampled_from((0, 1, 512, 1 << 61, COMPRESSED)))),
    st.one_of(st.just(0), st.integers(0, 12 * CLUSTER)),
)
def test_both_ways_to_read_a_damaged_image_agree(
    template: bytes, patches: list[tuple[int, int, int]], missing: int
) -> None:
    """Entries of the tables lead to any cluster, in any way, and the end is missing."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "image.qcow2"
        path.write_bytes(template)
        l1, l2 = fields(path)
        for number, cluster, flags in patches:
            patch(path, l2 + 8 * (number - 1) if number else l1, "Q", cluster * CLUSTER | flags)
        os.truncate(path, max(HEADER.size, len(template) - missing))
        found = [_disk(way, path) for way in (by_reader, by_stream)]
    assert found[0] == found[1]


def _disk(way: Callable[[Path], bytes], path: Path) -> bytes | None:
    try:
        return way(path)
    except ImageFault:
        return None
