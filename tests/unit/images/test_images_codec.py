"""Decompressors: right bytes however the input is cut, checkpoints, and hostile streams."""

import gzip
import lzma
import random
import subprocess
import zlib
from collections.abc import Callable, Iterator

import lz4.frame
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.codec import isal
from ingot.images.codec.choice import decompressor, sniff
from ingot.images.codec.decompressor import PIECE, Decompressor
from ingot.images.fault import ImageFault

CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 6),
    "zstd": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
    "xz": lambda data: lzma.compress(data, preset=0),
    "lz4": lambda data: lz4.frame.compress(data, content_checksum=True, block_checksum=True),
    "none": bytes,
}
# What can be damaged and noticed.
PACKED = [name for name in CODECS if name != "none"]


def words(size: int, seed: int = 1) -> bytes:
    """Bytes that compress about as well as a disk does."""
    source = random.Random(seed)  # noqa: S311 - the same bytes every time
    parts = [source.randbytes(source.randrange(4, 40)) for _ in range(200)]
    out = bytearray()
    while len(out) < size:
        out += source.choice(parts) if source.random() < 0.7 else source.randbytes(16)
    return bytes(out[:size])


def pieces(data: bytes, size: int) -> Iterator[memoryview]:
    for start in range(0, len(data), size):
        yield memoryview(bytearray(data[start : start + size]))


def unpack(codec: Decompressor, data: bytes, size: int = 100_000) -> bytes:
    out = bytearray()
    for piece in pieces(data, size):
        for got in codec.decompress(piece):
            assert 0 < len(got) <= PIECE
            out += got
    codec.finish()
    return bytes(out)


def fault(name: str, data: bytes, size: int = 100_000) -> ImageFault:
    with pytest.raises(ImageFault) as caught:
        unpack(decompressor(name, "layer"), data, size)
    assert caught.value.subject == "layer"
    return caught.value


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
def test_bytes_come_out_however_the_input_is_cut(name: str, size: int) -> None:
    data = words(20_000 if size < 100 else 1_500_000)
    assert unpack(decompressor(name, "layer"), CODECS[name](data), size) == data


@pytest.mark.parametrize("name", CODECS)
def test_frames_one_after_another_are_one_stream(name: str) -> None:
    parts = [words(1000, seed) for seed in range(20)]
    packed = b"".join(map(CODECS[name], parts))
    codec = decompressor(name, "layer")
    assert unpack(codec, packed, 333) == b"".join(parts)
    assert codec.position == len(packed)


@pytest.mark.parametrize("name", CODECS)
def test_the_first_bytes_tell_the_codec(name: str) -> None:
    assert sniff(CODECS[name](b"some text")) == name


def test_a_skippable_frame_in_front_is_passed_over() -> None:
    skipped = (0x184D2A53).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"aside"
    packed = skipped + zstd.compress(b"disk") + skipped
    assert sniff(packed) == "zstd"
    assert unpack(decompressor("zstd", "layer"), packed, 3) == b"disk"


def test_an_unknown_codec_is_refused_with_those_that_would_do() -> None:
    with pytest.raises(ImageFault, match="gzip, zstd, xz, lz4 or none"):
        decompressor("bzip2", "layer")


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("left", [0.0, 0.1, 0.5, 0.999])
def test_a_truncated_stream_is_noticed(name: str, left: float) -> None:
    packed = CODECS[name](words(300_000))
    assert fault(name, packed[: int(len(packed) * left)]).reason == "Truncated"


@pytest.mark.parametrize("name", PACKED)
def test_a_changed_byte_is_noticed(name: str) -> None:
    packed = bytearray(CODECS[name](words(300_000)))
    for place in (len(packed) // 3, len(packed) // 2, len(packed) - 3):
        damaged = bytearray(packed)
        damaged[place] ^= 0x10
        assert fault(name, bytes(damaged)).reason in ("BadData", "Truncated")


@pytest.mark.parametrize("name", PACKED)
def test_garbage_and_what_follows_a_stream_are_refused(name: str) -> None:
    assert fault(name, b"this is no stream of any kind" * 20).reason == "BadData"
    assert fault(name, CODECS[name](b"disk") + b"and then something else entirely").reason == "BadData"


@pytest.mark.parametrize("name", ["gzip", "xz"])
def test_zeros_behind_a_stream_are_let_pass_as_the_tools_do(name: str) -> None:
    packed = CODECS[name](b"disk") + bytes(5000)
    for size in (1, 700, 10_000):
        assert unpack(decompressor(name, "layer"), packed, size) == b"disk"
    assert subprocess.run([name, "-dc"], input=packed, stdout=subprocess.PIPE, check=True).stdout == b"disk"
    assert fault(name, packed + b"something else").reason == "BadData"


def test_a_wrong_checksum_of_gzip_is_named() -> None:
    packed = bytearray(gzip.compress(b"disk"))
    packed[-8] ^= 1
    assert "checksum" in fault("gzip", bytes(packed)).message


def member(flags: int, fields: bytes) -> bytes:
    raw = zlib.compressobj(wbits=-15)
    body = raw.compress(b"disk") + raw.flush()
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + fields
    if flags & 2:
        head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    return head + body + zlib.crc32(b"disk").to_bytes(4, "little") + (4).to_bytes(4, "little")


@pytest.mark.parametrize("flags", range(0, 0x20, 2))
@pytest.mark.parametrize("size", [1, 2, 9, 5000])
def test_gzip_headers_with_all_fields_are_read(flags: int, size: int) -> None:
    extra, name, comment = b"\x05\x00ex\0ra", b"name\0", b"comment" * 60 + b"\0"
    fields = extra * bool(flags & 4) + name * bool(flags & 8) + comment * bool(flags & 16)
    packed = member(flags, fields)
    assert unpack(decompressor("gzip", "layer"), packed * 2, size) == b"disk" * 2
    assert gzip.decompress(packed) == b"disk"


def test_gzip_headers_that_are_not_right_are_refused() -> None:
    damaged = bytearray(member(0x0A, b"name\0"))
    damaged[12] ^= 1
    assert "checksum" in fault("gzip", bytes(damaged)).message
    assert "unknown flags" in fault("gzip", member(0x40, b"")).message
    assert "131072 bytes" in fault("gzip", member(8, b"n" * 200_000 + b"\0")).message
    assert fault("gzip", member(8, b"name")[:14]).reason == "Truncated"


def test_a_wrong_length_of_gzip_is_noticed() -> None:
    damaged = bytearray(member(0, b""))
    damaged[-1] = 1
    assert fault("gzip", bytes(damaged)).reason == "BadData"


@pytest.mark.parametrize("name", PACKED)
def test_a_bomb_comes_in_pieces(name: str) -> None:
    codec = decompressor(name, "layer")
    packed = CODECS[name](bytes(16 << 20))
    sizes = [len(got) for piece in pieces(packed, 1 << 20) for got in codec.decompress(piece)]
    assert sum(sizes) == 16 << 20
    assert max(sizes) <= PIECE


def test_a_huge_dictionary_of_xz_is_refused() -> None:
    packed = lzma.compress(b"disk", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 256 << 20, "preset": 0}])
    caught = fault("xz", packed)
    assert (caught.reason, "64 MiB" in caught.message) == ("TooLarge", True)


def test_a_huge_window_of_zstd_is_refused() -> None:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 28})
    caught = fault("zstd", compressor.compress(words(1000)) + compressor.flush())
    assert (caught.reason, "128 MiB" in caught.message) == ("TooLarge", True)


@pytest.mark.parametrize("name", ["gzip", "none"])
@given(cut=st.integers(1, 199_999), step=st.integers(10_000, 200_000))
def test_a_checkpoint_goes_on_at_any_place(name: str, cut: int, step: int) -> None:
    data, packed = MEMBERS, PACKED_MEMBERS[name]
    cut %= len(packed)
    first = decompressor(name, "layer")
    out = b"".join(bytes(got) for piece in pieces(packed[:cut], step) for got in first.decompress(piece))
    kept = first.checkpoint()
    assert kept is not None
    second = decompressor(name, "layer")
    second.resume(kept)
    assert second.position == first.position == cut
    assert out + unpack(second, packed[cut:], step) == data


MEMBERS = words(200_000)
PACKED_MEMBERS = {name: pack(MEMBERS[:70_000]) + pack(MEMBERS[70_000:]) for name, pack in CODECS.items()}


def test_a_checkpoint_between_two_pieces_has_what_is_in_hand() -> None:
    data = words(200_000) + bytes(5 * PIECE) + words(200_000, 2)
    packed = gzip.compress(data)
    first = decompressor("gzip", "layer")
    out = b""
    for got in first.decompress(memoryview(bytearray(packed))):
        out += got
        second = decompressor("gzip", "layer")
        second.resume(first.checkpoint() or b"")
        assert out + unpack(second, packed[first.position :]) == data
    assert out == data


@pytest.mark.parametrize("name", ["zstd", "xz", "lz4"])
def test_frames_have_checkpoints_at_their_borders_only(name: str) -> None:
    one, two = CODECS[name](words(50_000)), CODECS[name](words(50_000, 2))
    codec = decompressor(name, "layer")
    list(codec.decompress(memoryview(one[:-5])))
    assert codec.checkpoint() is None
    list(codec.decompress(memoryview(one[-5:])))
    kept = codec.checkpoint()
    assert kept is not None
    again = decompressor(name, "layer")
    again.resume(kept)
    assert unpack(again, two) == words(50_000, 2)
    assert again.position == len(one) + len(two)


@pytest.mark.parametrize("name", CODECS)
def test_a_damaged_checkpoint_is_noticed(name: str) -> None:
    codec = decompressor(name, "layer")
    list(codec.decompress(memoryview(CODECS[name](words(100_000)))))
    kept = codec.checkpoint()
    assert kept is not None
    for damaged in (b"", kept[:-1], kept[:20], kept[:-9] + bytes(9), b"x" + kept[1:], kept + b"x"):
        with pytest.raises(ImageFault) as caught:
            decompressor(name, "layer").resume(damaged)
        assert caught.value.reason == "Damaged"


def test_a_checkpoint_of_another_build_of_isal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = decompressor("gzip", "layer").checkpoint()
    assert kept is not None
    monkeypatch.setattr("ingot.images.codec.gzip.fingerprint", lambda: b"another.")
    with pytest.raises(ImageFault, match="another build"):
        decompressor("gzip", "layer").resume(kept)


def test_without_isal_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isal, "_LIBRARY", "libnot-there.so.9")
    isal.library.cache_clear()
    try:
        with pytest.raises(ImageFault, match="libisal2"):
            decompressor("gzip", "layer")
    finally:
        isal.library.cache_clear()


@pytest.mark.parametrize("name", PACKED)
@given(data=st.binary(max_size=2000), place=st.integers(0, 1999), noise=st.binary(min_size=1, max_size=20))
def test_noise_gives_the_right_bytes_or_a_fault(name: str, data: bytes, place: int, noise: bytes) -> None:
    packed = bytearray(CODECS[name](data))
    packed[place % len(packed) : place % len(packed) + len(noise)] = noise
    try:
        got = unpack(decompressor(name, "layer"), bytes(packed), 97)
    except ImageFault:
        return
    # Flags in a header may turn checksums off, or lead to an empty stream; the digest of the blob would tell.
    assert got == data or place % len(packed) < 16
