"""The disks in qcow2 images, against what QEMU reads in the same images."""

import itertools
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from qcow2_images import Arriving, by_qemu, by_reader, by_stream, create, noise, snapshot, write

from ingot.images.content import FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.reader import Qcow2

KIB = 1 << 10
MIB = 1 << 20


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return noise(tmp_path / "noise", MIB)


@pytest.fixture
def mixed(tmp_path: Path, source: Path) -> Path:
    """Plain, compressed, zero and absent clusters; the last one of the disk is cut."""
    path = create(tmp_path / "mixed.qcow2", 5 * MIB + 1536)
    return write(
        path,
        f"write -c -s {source} 0 512k",
        f"write -s {source} 1M 192k",
        "write -z 1088k 64k",
        f"write -s {source} 2M 4k",
        f"write -c -s {source} 3M 1M",
        "write -P 7 5M 1536",
    )


def test_every_kind_of_cluster(mixed: Path) -> None:
    expected = by_qemu(mixed)
    assert by_reader(mixed) == expected
    assert by_reader(mixed, 4095) == expected
    assert by_stream(mixed) == expected
    assert by_stream(mixed, 5001) == expected


def test_extents_say_what_is_where(mixed: Path) -> None:
    disk = Qcow2(FileContent(mixed))
    extents = list(disk.extents(0, disk.size))
    assert [extent.start for extent in extents[1:]] == [extent.end for extent in extents[:-1]]
    assert (extents[0].start, extents[-1].end) == (0, disk.size)
    data = [(extent.start // KIB, extent.length // KIB) for extent in extents if extent.data]
    assert data == [(0, 512), (1024, 64), (1152, 64), (2048, 64), (3072, 1024), (5120, 1)]
    plain = next(extent for extent in extents if extent.start == MIB)
    with FileContent(mixed) as file:
        assert read(file, plain.stored, plain.length) == read(disk, MIB, plain.length)
    disk.close()


def test_holes_of_the_file_are_no_data(tmp_path: Path, source: Path) -> None:
    path = create(tmp_path / "p.qcow2", 64 * MIB, options="preallocation=metadata")
    write(path, f"write -s {source} 32M 1M")
    disk = Qcow2(FileContent(path))
    extents = list(disk.extents(0, disk.size))
    assert extents[-1].end == disk.size
    assert all(first.end == second.start for first, second in itertools.pairwise(extents))
    assert MIB <= sum(extent.length for extent in extents if extent.data) < 2 * MIB
    assert read(disk, 32 * MIB, MIB) == source.read_bytes()
    disk.close()


def test_only_what_is_asked_for_is_told(mixed: Path) -> None:
    disk = Qcow2(FileContent(mixed))
    assert [(extent.start, extent.end) for extent in disk.extents(100, MIB + 100)] == [
        (100, 512 * KIB),
        (512 * KIB, MIB),
        (MIB, MIB + 100),
    ]
    with pytest.raises(ImageFault, match="which has"):
        disk.readinto(disk.size - 10, memoryview(bytearray(11)))
    disk.close()


def test_several_threads_at_once(mixed: Path) -> None:
    expected = by_qemu(mixed)
    disk = Qcow2(FileContent(mixed))

    def work(step: int) -> None:
        for start in range(0, disk.size, step):
            length = min(step, disk.size - start)
            assert read(disk, start, length) == expected[start : start + length]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, (4096, 10_000, 100_000, 1_000_000)))
    disk.close()


def test_zstd(tmp_path: Path, source: Path) -> None:
    path = create(tmp_path / "z.qcow2", 2 * MIB, options="compression_type=zstd")
    write(path, f"write -c -s {source} 128k 1M")
    assert by_reader(path) == by_stream(path, 10_000) == by_qemu(path)


def test_extended_entries(tmp_path: Path, source: Path) -> None:
    path = create(tmp_path / "x.qcow2", 5 * MIB + 512, options="extended_l2=on")
    small = [f"write -s {source} {start}k 2k" for start in (1, 3, 77, 79, 200, 4000)]
    write(path, f"write -c -s {source} 1M 256k", f"write -s {source} 2M 300k", "write -z 2050k 7k", *small)
    write(path, "write -P 9 5M 512", "discard 2100k 64k")
    expected = by_qemu(path)
    assert by_reader(path) == by_reader(path, 1234) == expected
    assert by_stream(path) == by_stream(path, 10_001) == expected
    disk = Qcow2(FileContent(path))
    assert [extent.data for extent in disk.extents(78 * KIB, 86 * KIB)] == [True, False]
    disk.close()


def test_a_snapshot_is_not_the_disk(tmp_path: Path, source: Path) -> None:
    path = write(create(tmp_path / "s.qcow2", 2 * MIB), f"write -s {source} 0 1M")
    write(snapshot(path), "write -P 9 64k 128k", f"write -c -s {source} 1M 256k")
    assert by_reader(path) == by_stream(path, 70_000) == by_qemu(path)


operations = st.lists(
    st.tuples(
        st.sampled_from(("write -s", "write -c -s", "write -z", "discard")), st.integers(0, 47), st.integers(1, 9)
    ),
    max_size=12,
)


@settings(max_examples=5, deadline=None)
@given(
    history=st.lists(operations, min_size=1, max_size=2),
    cluster=st.sampled_from((512, 4096, 65536, 2 * MIB)),
    form=st.sampled_from(((2, ""), (3, ""), (3, "extended_l2=on"))),
    tail=st.sampled_from((0, 512, 1024 + 512)),
    piece=st.integers(1, 3 * MIB),
    stops=st.sets(st.integers(0, 20)),
)
def test_any_history(
    history: list[list[tuple[str, int, int]]],
    cluster: int,
    form: tuple[int, str],
    tail: int,
    piece: int,
    stops: set[int],
) -> None:
    version, options = form
    cluster = max(cluster, 1 << 14) if options else cluster
    unit = min(cluster, 65536)
    with tempfile.TemporaryDirectory() as name:
        source = noise(Path(name) / "noise", 9 * unit)
        path = create(Path(name) / "i.qcow2", -(-48 * unit // cluster) * cluster + tail, cluster, version, options)
        for number, part in enumerate(history):
            if number:
                snapshot(path)
            write(path, "flush", *(_command(step, cluster, unit, source) for step in part))
        try:
            expected = by_qemu(path)
        except subprocess.CalledProcessError:
            # QEMU 7.2 damages its own image now and then when clusters that were compressed are written again.
            reject()
        assert by_reader(path) == expected
        assert by_reader(path, 7 * unit - 100) == expected
        _arrives(path, max(piece * cluster >> 21, 1000), stops, expected)


def _command(step: tuple[str, int, int], cluster: int, unit: int, source: Path) -> str:
    kind, start, count = step
    if "-c" in kind:
        # Compressed clusters are written as wholes.
        at = start * unit // cluster * cluster
        return f"{kind} {source} {at} {cluster}"
    where = f"{start * unit} {min(count, 48 - start) * unit}"
    return f"{kind} {source} {where}" if "-s" in kind else f"{kind} {where}"


def _arrives(path: Path, piece: int, stops: set[int], expected: bytes) -> None:
    data = path.read_bytes()
    arriving = Arriving(path.with_suffix(".spool"))
    for number, at in enumerate(range(0, len(data), piece)):
        arriving.stream.feed(data[at : at + piece])
        if number in stops:
            arriving.again()
    assert arriving.finish() == expected
    arriving.stream.close()
