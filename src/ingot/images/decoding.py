"""Everything between the bytes of a blob and those of its disk: decompress, untar, and places to go on at."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from ingot.images.blob import Blob
from ingot.images.codec.choice import decompressor, sniff
from ingot.images.codec.decompressor import Decompressor
from ingot.images.fault import ImageFault
from ingot.images.fetching import Fetched
from ingot.images.gzip_index import IndexBuilder
from ingot.images.unpacking import Unpacking

# What a layer may hold beside its disk.
_MOST_BESIDE = 4 << 30
# How many compressed bytes come between two checkpoints; fewer where these take longer to come, so that a slow import
# that is killed loses little.
_CUT = 4 << 20
_CUT_SECONDS = 0.1
_NOTHING = memoryview(b"")


class Cut(msgspec.Struct, frozen=True):
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
class Item:
    """Bytes of the disk, and where a checkpoint is possible behind them."""

    data: memoryview
    cut: Cut | None


class Decoding:
    """Decodes one blob, of which a disk of at most `limit` bytes is taken; with `layer` it must be an archive."""

    def __init__(self, blob: Blob, limit: int, layer: bool, index: IndexBuilder | None) -> None:
        self._subject = blob.subject
        self._size = blob.size
        self._limit = limit
        self._index = index
        self._decoded = 0
        self._position = 0
        self._last_cut = 0
        self._cut_at = time.monotonic()
        self._codec_name = ""
        self._codec: Decompressor | None = None
        self.unpacking = Unpacking(blob.subject, limit, layer)

    @property
    def codec(self) -> str:
        """How the blob is compressed, once its first bytes have come; empty before."""
        return self._codec_name

    def resume(self, cut: Cut) -> None:
        self._codec_name, self._decoded, self._position = cut.codec, cut.decoded, cut.position
        self._last_cut = cut.fetched
        self._codec = decompressor(cut.codec, self._subject)
        self._codec.resume(cut.decompressed)
        self.unpacking.resume(cut.unpacked)

    def run(self, pieces: Iterator[Fetched]) -> Iterator[Item]:
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
                        yield Item(last, None)
                    last = data
                    self._position += len(data)
                yield Item(last, self._cut(piece, codec))
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

    def _cut(self, piece: Fetched, codec: Decompressor) -> Cut | None:
        """A checkpoint behind what was decoded, if one is due and possible."""
        fetched, now = codec.position, time.monotonic()
        if fetched - self._last_cut < _CUT and now - self._cut_at < _CUT_SECONDS:
            return None
        decompressed, unpacked = codec.checkpoint(), self.unpacking.state()
        if decompressed is None or unpacked is None:
            return None
        self._last_cut, self._cut_at = fetched, now
        hashed, name = piece.hashed_until(fetched), self._codec_name
        return Cut(self._size, fetched, hashed, name, decompressed, unpacked, self._decoded, self._position)

    def _finish(self) -> Iterator[Item]:
        if self._codec is None:
            raise ImageFault(self._subject, "Truncated", "it has no bytes at all")
        self._codec.finish()
        for data in self.unpacking.finish():
            self._position += len(data)
            yield Item(data, None)
        if self._index:
            self._index.end(self.unpacking.member)
