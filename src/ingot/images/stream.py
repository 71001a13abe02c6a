"""A disk that arrives from front to back: blob → hash → decompress → untar, in threads that run ahead."""

from collections.abc import Callable, Iterator
from typing import Self

from ingot.images import tar_header
from ingot.images.blob import Blob
from ingot.images.codec.decompressor import PIECES
from ingot.images.decoding import Cut, Decoding, Item
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.fetching import Fetched, fetch
from ingot.images.gzip_index import IndexBuilder
from ingot.images.relay import Relay
from ingot.images.seal import seal_record, unseal_record
from ingot.images.tar import Member

_KIND = b"ingstre1"
_FETCH_AHEAD = 4
# Of decoded pieces one is being taken and one is being made.
_DECODE_AHEAD = PIECES - 2


class Stream:
    """The bytes of a disk in order. It ends only when all of the blob has been read and checked.

    A context manager that ends its threads. For one thread at a time.
    """

    def __init__(
        self,
        blob: Blob,
        decoding: Decoding,
        digest: Digest | None,
        cut: Cut | None,
        interrupt: Callable[[], None] | None = None,
    ) -> None:
        start, hashed = (cut.fetched, cut.hashed) if cut else (0, None)
        # Pieces that are not compressed are used as they are by all who hold decoded ones.
        buffers = _FETCH_AHEAD + 2 + PIECES
        self.subject = blob.subject
        self.total = blob.size
        self._blob = blob
        self._decoding = decoding
        # How many bytes of the blob were done before. `fetched` is ahead of that at once: threads are at work.
        self.begun = self._taken = start
        self._interrupt = interrupt
        self._fetching = Relay(lambda: fetch(blob, digest, start, hashed, buffers), _FETCH_AHEAD, "fetch")
        self._items = Relay(lambda: decoding.run(self._counted()), _DECODE_AHEAD, "decode")
        self._position = cut.position if cut else 0
        self._first: Item | None = None
        self._cut: Cut | None = None

    @property
    def position(self) -> int:
        """How many bytes of the disk have been given."""
        return self._position

    @property
    def fetched(self) -> int:
        """How many of the `total` bytes of the blob have been decoded, for progress."""
        return self._taken

    @property
    def size(self) -> int | None:
        """How many bytes will have been given at the end, where that is known by now: ask behind `head`."""
        if self.member is not None:
            return self.member.size
        return self.total if self._decoding.codec == "none" and self.total else None

    @property
    def member(self) -> Member | None:
        """The file in the archive, once its first bytes were given; None where the stream is no archive."""
        return self._decoding.unpacking.member

    @property
    def hiding(self) -> tuple[str, ...]:
        """As TarReader's."""
        return self._decoding.unpacking.hiding

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
        self._first = Item(memoryview(kept), cut)
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

        With gzip and with no compression there is one every few MiB, sooner where these come slowly; else only between
        frames.
        """
        return None if self._cut is None else seal_record(_KIND, self._cut)

    def close(self) -> None:
        # Both are asked before one is waited for: each may wait for the other.
        self._fetching.stop()
        if self._interrupt is not None:
            self._interrupt()
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
    interrupt: Callable[[], None] | None = None,
) -> Stream:
    """The disk in a blob: compressed or not, in a tar (`layer`: it must be) or not, of at most `limit` bytes.

    With `resume`, a checkpoint of an earlier stream of the same blob, it begins where that was taken. An `index` is
    filled on the way, from the start on only. `interrupt` ends a read of the blob that waits: it is called when the
    stream is closed, for a blob whose bytes may never come. Raises ImageFault: Damaged for a checkpoint that cannot be
    used.
    """
    if resume is not None and index is not None:
        raise ValueError("an index is made of a whole blob")
    decoding = Decoding(blob, limit, layer, index)
    cut = None
    if resume is not None:
        cut = _opened(resume, f"checkpoint of {blob.subject}", blob.size)
        decoding.resume(cut)
    return Stream(blob, decoding, digest, cut, interrupt)


def _opened(checkpoint: bytes, subject: str, size: int) -> Cut:
    cut = unseal_record(_KIND, checkpoint, Cut, subject)
    if cut.size != size:
        raise ImageFault(subject, "Damaged", f"it is of a blob of {cut.size} bytes, and this one has {size}")
    return cut
