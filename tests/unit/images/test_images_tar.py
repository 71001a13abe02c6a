"""The disk in a tar, whoever made that, and archives that are refused."""

import contextlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.fault import ImageFault
from ingot.images.tar import Member, TarReader
from ingot.images.tar_header import BLOCK, BadTar, is_header, parse, parse_pax


def entry(name: str, body: bytes = b"", **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = len(body)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def archive(*entries: tuple[tarfile.TarInfo, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as tar:
        for info, body in entries:
            tar.addfile(info, io.BytesIO(body))
    return file.getvalue()


def plain(name: str, body: bytes = b"", format: int = tarfile.PAX_FORMAT) -> bytes:
    """An entry without the end of an archive."""
    return entry(name, body).tobuf(format, "utf-8", "surrogateescape") + body + bytes(-len(body) % BLOCK)


def patched(header: bytes, place: int, value: bytes) -> bytes:
    """A header with other bytes, and the right checksum."""
    block = bytearray(header)
    block[place : place + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:BLOCK])
    return bytes(block)


def read(data: bytes, size: int = 10_000, limit: int = 1 << 40) -> tuple[bytes, Member | None]:
    reader = TarReader("layer", limit)
    out = b""
    for start in range(0, len(data), size):
        for piece in reader.feed(memoryview(data)[start : start + size]):
            out += piece
    reader.finish()
    return out, reader.member


def fault(data: bytes, reason: str = "BadTar", limit: int = 1 << 40) -> str:
    with pytest.raises(ImageFault) as caught:
        read(data, limit=limit)
    assert (caught.value.subject, caught.value.reason) == ("layer", reason)
    return caught.value.message


DISK = bytes(range(256)) * 9


NAMES = ["disk/disk.img", "./disk/disk.img", "disk/" + "n" * 90, "disk"]
LONG = ["disk/" + "é" * 100, "disk/" + "n" * 250]


@pytest.mark.parametrize(
    ("format", "name"),
    [(tarfile.USTAR_FORMAT, name) for name in NAMES]
    + [(format, name) for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT) for name in NAMES + LONG],
)
@pytest.mark.parametrize("size", [1, 511, 10_000])
def test_the_disk_is_found(format: int, name: str, size: int) -> None:
    data = archive(
        (entry("bin/tool", b"x" * 700), b"x" * 700),
        (entry("disk-not/disk.img", b"no"), b"no"),
        (entry(name, DISK), DISK),
        (entry("etc/other", b"y"), b"y"),
        format=format,
    )
    out, member = read(data, size)
    assert out == DISK
    assert member is not None
    assert (member.name, member.size) == (name.removeprefix("./"), len(DISK))
    assert data[member.start : member.start + member.size] == DISK


def test_tar_and_a_long_prefix_are_read(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/disk.qcow2").write_bytes(DISK)
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(DISK)
    for format in ("gnu", "posix", "ustar", "v7"):
        names = ["disk"] if format == "v7" else ["d" * 60, "disk"]
        packed = subprocess.run(
            ["tar", "-C", str(tmp_path), f"--format={format}", "-c", *names], stdout=subprocess.PIPE, check=True
        )
        out, member = read(packed.stdout)
        assert out == DISK
        assert member is not None
        assert member.name == "disk/disk.qcow2"


def test_an_archive_without_an_end_is_read_and_what_is_behind_the_end_is_not() -> None:
    assert read(plain("disk/a", DISK))[0] == DISK
    assert read(plain("disk/a", DISK) + bytes(1024) + plain("disk/b", DISK))[0] == DISK
    assert read(plain("disk/a", DISK) + bytes(1024) + b"garbage" * 100)[0] == DISK


def test_links_and_devices_elsewhere_do_not_matter() -> None:
    others = [
        (entry("bin/sh", type=tarfile.SYMTYPE, linkname="/bin/bash"), b""),
        (entry("bin/hard", type=tarfile.LNKTYPE, linkname="bin/sh"), b""),
        (entry("dev/null", type=tarfile.CHRTYPE), b""),
        (entry("disk", type=tarfile.DIRTYPE), b""),
        (entry("disk/deep/file", b"x"), b"x"),
    ]
    assert read(archive(*others, (entry("disk/a", DISK), DISK)))[0] == DISK


def test_whiteouts_and_directories_are_told_and_are_no_disks() -> None:
    names = [".wh.disk", "disk/.wh.old.img", "disk/.wh..wh..opq", "disk/", "disk/b/", "disk/b/c/", "etc/.wh.passwd"]
    members = [entry(name, type=tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE) for name in names]
    data = archive(*((member, b"") for member in members), (entry("disk/a", DISK), DISK))
    reader = TarReader("layer")
    assert b"".join(reader.feed(memoryview(data))) == DISK
    assert reader.hiding == tuple(names[:5])
    assert "1000" in fault(b"".join(plain(f".wh.{number}") for number in range(1001)))


def test_directories_of_an_archive_that_is_no_layer_hide_nothing() -> None:
    many = ((entry(f"disk/d{number}", type=tarfile.DIRTYPE), b"") for number in range(1001))
    data = archive(*many, (entry("disk/a", DISK), DISK))
    reader = TarReader("archive", layer=False)
    assert b"".join(reader.feed(memoryview(data))) == DISK
    assert reader.hiding == ()


@pytest.mark.parametrize("name", ["../disk/a", "disk/../a", "disk/..", "a/../../b"])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    assert "leads elsewhere" in fault(archive((entry(name, b"x"), b"x")))


def test_absolute_names_are_names_in_the_archive() -> None:
    out, member = read(archive((entry("/etc/passwd", b"x"), b"x"), (entry("/disk/a", DISK), DISK)))
    assert out == DISK
    assert member is not None
    assert member.name == "disk/a"
    fault(archive((entry("/disk/a", DISK), DISK), (entry("disk/a", DISK), DISK)), "TwoDisks")


def test_names_that_cannot_be_are_refused() -> None:
    assert "4096" in fault(archive((entry("n" * 5000), b"")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
@pytest.mark.parametrize("name", ["disk/a", "disk"])
def test_links_and_devices_in_place_of_a_disk_are_refused(kind: bytes, name: str) -> None:
    assert name in fault(archive((entry(name, type=kind, linkname="/etc/shadow"), b"")))


def test_one_disk_and_no_other() -> None:
    assert "disk/b" in fault(archive((entry("disk/a", DISK), DISK), (entry("disk/b"), b"")), "TwoDisks")
    fault(archive((entry("disk/a", DISK), DISK), (entry("disk/a", DISK), DISK)), "TwoDisks")
    fault(archive((entry("etc/disk", DISK), DISK)), "NoDisk")
    fault(archive(), "NoDisk")
    fault(b"", "NoDisk")


def test_a_disk_over_the_limit_is_refused_at_its_header() -> None:
    huge = patched(plain("disk/a"), 124, b"\x80" + (1 << 41).to_bytes(11, "big"))
    assert str(1 << 41) in fault(huge, "TooLarge")
    assert read(archive((entry("disk/a", DISK), DISK)), limit=len(DISK))[0] == DISK
    fault(archive((entry("disk/a", DISK), DISK)), "TooLarge", limit=len(DISK) - 1)


def test_sparse_files_are_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with (tmp_path / "disk/a").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(DISK)
    for options in (["--format=gnu"], ["--format=posix", "--sparse-version=0.0"], ["--sparse-version=1.0", "-Hpax"]):
        command = ["tar", "-C", str(tmp_path), "-S", *options, "-c", "disk"]
        packed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        assert "--sparse" in fault(packed)


@pytest.mark.parametrize("cut", [100, 512, 700, 1536, 2900])
def test_a_truncated_archive_is_noticed(cut: int) -> None:
    data = archive((entry("disk/" + "n" * 200, DISK), DISK))
    assert "ends at byte" in fault(data[:cut], "Truncated")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (124, b"\xff" * 12, "below zero"),
        (124, b"\x80" + b"\xff" * 11, "at most"),
        (124, b"77777777777x", "not a number"),
        (124, b"-0000000100\0", "not a number"),
        (156, b"S", "sparse"),
        (156, b"M", "divided"),
    ],
)
def test_headers_that_cannot_be_right_are_refused(place: int, value: bytes, said: str) -> None:
    assert said in fault(patched(plain("disk/a"), place, value))


def test_a_wrong_checksum_is_refused() -> None:
    damaged = bytearray(plain("disk/a", DISK))
    damaged[0] ^= 1
    assert "checksum" in fault(bytes(damaged))
    assert "checksum" in fault(b"this is no archive " * 100)


def test_zeros_in_the_middle_are_refused() -> None:
    assert "zeros" in fault(plain("disk/a", DISK) + bytes(512) + plain("disk/b", DISK))


def pax(records: bytes, kind: bytes = b"x") -> bytes:
    header = patched(plain("pax", records)[:BLOCK], 156, kind)
    return header + records + bytes(-len(records) % BLOCK)


@pytest.mark.parametrize(
    "records",
    [b"x", b"5 a=b", b"6 a=b\n6 a=b", b"99 path=x\n", b"6 a:b\n\n", b"0 a=b\n", b" path=x\n", b"9999999999999 a=b\n"],
)
def test_pax_records_that_are_not_right_are_refused(records: bytes) -> None:
    assert "record" in fault(pax(records) + plain("disk/a", DISK))


@pytest.mark.parametrize("size", [b"-1", b"1" * 30, b"99999999999999999", b"1e9", b""])
def test_pax_sizes_that_are_not_right_are_refused(size: bytes) -> None:
    record = b" size=" + size + b"\n"
    length = len(record) + (1 if len(record) < 9 else 2)
    assert "a size" in fault(pax(b"%d" % length + record) + plain("disk/a", DISK))


def test_pax_says_the_name_and_the_size() -> None:
    records = b"15 path=disk/a\n" + b"13 size=2304\n"
    data = pax(records) + plain("etc/b") + DISK + bytes(-len(DISK) % BLOCK)
    out, member = read(data)
    assert out == DISK
    assert member is not None
    assert member.name == "disk/a"
    assert "all files" in fault(pax(records, b"g") + plain("disk/a", DISK))
    assert read(pax(b"13 comment=1\n", b"g") + plain("disk/a", DISK))[0] == DISK
    assert "NUL" in fault(pax(b"17 path=disk/a\0b\n") + plain("disk/a", DISK))


def test_endless_extended_headers_are_refused() -> None:
    assert "16" in fault(pax(b"6 a=b\n") * 17 + plain("disk/a", DISK))
    huge = patched(patched(plain("pax"), 156, b"x"), 124, b"%011o\0" % (1 << 30))
    assert "1048576" in fault(huge)
    assert "0 bytes" in fault(patched(plain("pax"), 156, b"L") + plain("disk/a", DISK))


def test_names_that_are_not_utf8_are_shown() -> None:
    data = patched(plain("disk/x"), 5, b"\xff\xfe.img") + bytes(0)
    _, member = read(data)
    assert member is not None
    assert member.name == "disk/\\xff\\xfe.img"


def test_an_archive_is_known_by_its_first_block() -> None:
    assert is_header(archive((entry("a"), b""))[:BLOCK])
    for other in (bytes(BLOCK), b"ustar" * 120, b"", DISK[:BLOCK], archive((entry("a"), b""))[:511]):
        assert not is_header(other)


@given(cut=st.integers(0, 6000), size=st.integers(1, 3000))
def test_a_state_goes_on_at_any_place(cut: int, size: int) -> None:
    data = archive((entry("x/" + "n" * 150, b"x"), b"x"), (entry("disk/" + "n" * 150, DISK), DISK), (entry("z"), b""))
    first = TarReader("layer")
    out = b"".join(map(bytes, first.feed(memoryview(data)[:cut])))
    second = TarReader.from_state(first.state(), "layer")
    for start in range(cut, len(data), size):
        out += b"".join(map(bytes, second.feed(memoryview(data)[start : min(start + size, len(data))])))
    second.finish()
    assert out == DISK
    assert second.member is not None


def test_a_state_that_is_none_is_refused() -> None:
    for state in (b"", b"\xc1", b"\x81\xa4give\xa1x"):
        with pytest.raises(ImageFault, match="state"):
            TarReader.from_state(state, "layer")


@given(data=st.binary(min_size=BLOCK, max_size=BLOCK), pieces=st.lists(st.binary(max_size=600), max_size=3))
def test_noise_raises_nothing_but_a_fault(data: bytes, pieces: list[bytes]) -> None:
    for block in (data, patched(data, 257, b"ustar\0")):
        try:
            found = parse(block)
        except BadTar:
            found = None
        assert found is None or found.size >= 0
        with contextlib.suppress(ImageFault):
            read(block + b"".join(pieces), 100)


@given(records=st.binary(max_size=100))
def test_noise_in_pax_raises_nothing_but_its_fault(records: bytes) -> None:
    with contextlib.suppress(BadTar):
        parse_pax(records)
