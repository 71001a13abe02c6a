"""A disk that arrives from front to back: blob → hash → decompress → untar, in threads that run ahead."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import msgspec

from ingot.images import tar_header
from ingot.images.blob import Blob
from ingot.images.codec.choice import decompressor, sniff
from ingot.images.codec.decompressor import PIECES, Decompressor
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.fetching import Fetched, fetch
from ingot.images.gzip_index import IndexBuilder
from ingot.images.relay import Relay
from ingot.images.seal import seal_record, unseal_record
from ingot.images.tar import Member
from ingot.images.unpacking import Unpacking

# What a layer may hold beside its disk.
_MOST_BESIDE = 4 << 30
# How many compressed bytes come between two checkpoints.
_CUT = 4 << 20
_KIND = b"ingstre1"
_FETCH_AHEAD = 4
# Of decoded pieces one is being taken and one is being made.
_DECODE_AHEAD = PIECES - 2
_NOTHING = memoryview(b"")


class _Cut(msgspec.Struct, frozen=True):
    """Everything at one moment: how far the blob of `size` bytes was read, the states of all stages, and the position
    in the disk."""

    size: int
    fetched: int
    hashed: bytes
    codec: str
    decompressed: bytes
    unpacked: bytes
    decoded: int
    position: int


@dataclass(frozen=True, slots=True)
class _Item:
    """Bytes of the disk, and where a checkpoint is possible behind them."""

    data: memoryview
    cut: _Cut | None


class _Decoding:
    """Everything between the blob and the disk; it runs in a thread."""

    def __init__(self, blob: Blob, limit: int, layer: bool, index: IndexBuilder | None) -> None:
        self._subject = blob.subject
        self._size = blob.size
        self._limit = limit
        self._index = index
        self._decoded = 0
        self._position = 0
        self._last_cut = 0
        self._codec_name = ""
        self._codec: Decompressor | None = None
        self.unpacking = Unpacking(blob.subject, limit, layer)

    def resume(self, cut: _Cut) -> None:
        self._codec_name, self._decoded, self._position = cut.codec, cut.decoded, cut.position
        self._last_cut = cut.fetched
        self._codec = decompressor(cut.codec, self._subject)
        self._codec.resume(cut.decompressed)
        self.unpacking.resume(cut.unpacked)

    def run(self, pieces: Iterator[Fetched]) -> Iterator[_Item]:
        """The disk. A checkpoint comes with the last bytes before it.

        There is an item for each decoded piece, if an empty one: buffers are used again by their number, and so must
        not be when all that follows is skipped.
        """
        for piece in pieces:
            codec = self._codec or self._begin(piece)
            for output in codec.decompress(piece.data):
                last = _NOTHING
                for data in self._unpack(output, codec):
                    if len(last):
                        yield _Item(last, None)
                    last = data
                    self._position += len(data)
                yield _Item(last, self._cut(piece, codec))
        yield from self._finish()

    def _begin(self, piece: Fetched) -> Decompressor:
        self._codec_name = sniff(piece.data)
        self._codec = decompressor(self._codec_name, self._subject)
        if self._index:
            self._index.begin(self._codec_name, self._codec)
        return self._codec

    def _unpack(self, output: bytes | memoryview, codec: Decompressor) -> Iterator[memoryview]:
        self._decoded += len(output)
        if self._decoded > self._limit + _MOST_BESIDE:
            message = f"it is larger than {self._limit} bytes and {_MOST_BESIDE} more when decompressed"
            raise ImageFault(self._subject, "TooLarge", message)
        if self._index:
            self._index.add(output, codec)
        return self.unpacking.feed(memoryview(output))

    def _cut(self, piece: Fetched, codec: Decompressor) -> _Cut | None:
        """A checkpoint behind what was decoded, if one is due and possible."""
        fetched = codec.position
        if fetched - self._last_cut < _CUT:
            return None
        decompressed, unpacked = codec.checkpoint(), self.unpacking.state()
        if decompressed is None or unpacked is None:
            return None
        self._last_cut = fetched
        hashed, name = piece.hashed_until(fetched), self._codec_name
        return _Cut(self._size, fetched, hashed, name, decompressed, unpacked, self._decoded, self._position)

    def _finish(self) -> Iterator[_Item]:
        if self._codec is None:
            raise ImageFault(self._subject, "Truncated", "it has no bytes at all")
        self._codec.finish()
        for data in self.unpacking.finish():
            self._position += len(data)
            yield _Item(data, None)
        if self._index:
            self._index.end(self.unpacking.member)


class Stream:
    """The bytes of a disk in order. It ends only when all of the blob has been read and checked.

    A context manager that ends its threads. For one thread at a time.
    """

    def __init__(self, blob: Blob, decoding: _Decoding, digest: Digest | None, cut: _Cut | None) -> None:
        start, hashed = (cut.fetched, cut.hashed) if cut else (0, None)
        # Pieces that are not compressed are used as they are by all who hold decoded ones.
        buffers = _FETCH_AHEAD + 2 + PIECES
        self.subject = blob.subject
        self.total = blob.size
        self._blob = blob
        self._decoding = decoding
        self._taken = start
        self._fetching = Relay(lambda: fetch(blob, digest, start, hashed, buffers), _FETCH_AHEAD, "fetch")
        self._items = Relay(lambda: decoding.run(self._counted()), _DECODE_AHEAD, "decode")
        self._position = cut.position if cut else 0
        self._first: _Item | None = None
        self._cut: _Cut | None = None

    @property
    def position(self) -> int:
        """How many bytes of the disk have been given."""
        return self._position

    @property
    def fetched(self) -> int:
        """How many of the `total` bytes of the blob have been decoded, for progress."""
        return self._taken

    @property
    def member(self) -> Member | None:
        """The file in the archive, once its first bytes were given; None where the stream is no archive."""
        return self._decoding.unpacking.member

    @property
    def whiteouts(self) -> tuple[str, ...]:
        """Names in the archive so far that hide something of the layers below, in its root and in disk/."""
        return self._decoding.unpacking.whiteouts

    def _counted(self) -> Iterator[Fetched]:
        for piece in self._fetching:
            yield piece
            self._taken = piece.end

    def head(self, length: int) -> bytes:
        """The first bytes of the disk, which are given again; fewer where it has fewer. Call it before all else."""
        kept = bytearray()
        cut = None
        while len(kept) < length and (item := next(self._items, None)):
            kept += item.data
            cut = item.cut
        self._first = _Item(memoryview(kept), cut)
        return bytes(kept[:length])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> memoryview:
        """The next bytes, which are good until the next call. Raises ImageFault."""
        while True:
            item = self._first or next(self._items)
            self._first = None
            self._position += len(item.data)
            self._cut = item.cut
            if len(item.data):
                return item.data

    def checkpoint(self) -> bytes | None:
        """What `open_stream` needs to go on behind the bytes that were given last; None where it cannot.

        With gzip and with no compression there is one every few MiB; else only between frames that are so far apart.
        """
        return None if self._cut is None else seal_record(_KIND, self._cut)

    def close(self) -> None:
        # Both are asked before one is waited for: each may wait for the other.
        self._fetching.stop()
        self._items.close()
        self._fetching.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_stream(
    blob: Blob,
    *,
    digest: Digest | None = None,
    resume: bytes | None = None,
    limit: int = tar_header.MOST_BYTES,
    layer: bool = False,
    index: IndexBuilder | None = None,
) -> Stream:
    """The disk in a blob: compressed or not, in a tar (`layer`: it must be) or not, of at most `limit` bytes.

    With `resume`, a checkpoint of an earlier stream of the same blob, it begins where that was taken. An `index` is
    filled on the way, from the start on only. Raises ImageFault: Damaged for a checkpoint that cannot be used.
    """
    if resume is not None and index is not None:
        raise ValueError("an index is made of a whole blob")
    decoding = _Decoding(blob, limit, layer, index)
    cut = None
    if resume is not None:
        cut = _opened(resume, f"checkpoint of {blob.subject}", blob.size)
        decoding.resume(cut)
    return Stream(blob, decoding, digest, cut)


def _opened(checkpoint: bytes, subject: str, size: int) -> _Cut:
    cut = unseal_record(_KIND, checkpoint, _Cut, subject)
    if cut.size != size:
        raise ImageFault(subject, "Damaged", f"it is of a blob of {cut.size} bytes, and this one has {size}")
    return cut
