"""An index of a layer that was not made for random access, from a pass over all of it.

About every MiB of what the layer decompresses to there is a point: where in the blob it is, and the decompressor's
checkpoint. What is between two points is a span, known by its SHA-256. The index is ours, kept beside the cache and
never taken from a registry: its author could replace bytes of an image that is pinned by its digest.

The file: the checkpoints one after another, then the sealed table, then where that is.
"""

import hashlib
import itertools
import os
import struct
from enum import Enum, auto
from pathlib import Path
from typing import Self

import msgspec

from ingot.images.chunk import Chunk
from ingot.images.codec.decompressor import PIECE, Decompressor
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.seal import seal_record, unseal_record
from ingot.images.tar import Member

SPAN = 1 << 20
# A stream without checkpoints for so long, as zstd in one frame, gets no index.
MOST_SPAN = 8 << 20
# As a TiB has. Each takes some hundred bytes of memory, and a layer may unpack to a thousand times what it has.
MOST_POINTS = 1 << 20
# Behind a point there must be something to read: what ISA-L has in hand at the end of a stream is less than this.
_LEAST_REST = 64
_KIND = b"ingindx1"
_END = struct.Struct("<8sQQ")
_END_MAGIC = b"ingindxE"
_MOST_TABLE = 256 << 20
_LIMIT = 1 << 30
_ZEROS = bytes(PIECE)


class Obstacle(Enum):
    """Why a stream can have no index."""

    ONE_FRAME = auto()
    LIMIT = auto()
    POINTS = auto()


class Span(msgspec.Struct, frozen=True, array_like=True):
    """The bytes from `start` of the decompressed stream to the next span's, by their digest; the compressed ones begin
    at `position` of the blob. The checkpoint to begin with is at `point` of the index, and takes `length` bytes."""

    start: int
    position: int
    digest: bytes
    zeros: bool
    point: int
    length: int


class _Table(msgspec.Struct, frozen=True, array_like=True):
    """`size` is that of the decompressed stream, `blob_size` that of the blob, whose digest is `digest`."""

    digest: str
    blob_size: int
    size: int
    codec: str
    member: Member | None
    spans: list[Span]


class IndexBuilder:
    """Makes the index of a blob while a stream of it is decoded; give it to `open_stream`. A context manager.

    The file has its name only when all of the blob was read and is what its digest says; until then it has another,
    and what was left there is replaced, so at most one process makes an index. For one thread at a time.
    """

    def __init__(self, path: Path, digest: Digest, blob_size: int, limit: int = _LIMIT) -> None:
        """An index of more than `limit` bytes, or with too many points for memory, is not made. Raises OSError when no
        file can be made beside `path`."""
        # Whether the index is there: not before the end, nor for a stream that has no places to begin at.
        self.made = False
        self._limit = limit
        self._path = path
        self._digest = digest
        self._blob_size = blob_size
        self._scratch = path.with_name(f".{path.name}.part")
        self._scratch.unlink(missing_ok=True)
        self._file = os.fdopen(os.open(self._scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
        self._spans: list[Span] = []
        self._codec = ""
        self._size = 0
        self._start = 0
        self._position = 0
        self._zeros = True
        self._hash = hashlib.sha256()
        self._point = (0, 0)
        self._written = 0
        # Why there can be no index, by what has come so far.
        self.obstacle: Obstacle | None = None

    def begin(self, name: str, codec: Decompressor) -> None:
        """The stream begins, and is compressed as `name` says."""
        self._codec = name
        checkpoint = codec.checkpoint()
        assert checkpoint is not None, "a stream can always be read from its front"
        self._open_span(codec.position, checkpoint)

    def add(self, output: bytes | memoryview, codec: Decompressor) -> None:
        """The stream goes on with `output`, which `codec` has just given. Raises OSError."""
        if self.obstacle:
            return
        self._hash.update(output)
        self._zeros = self._zeros and _ZEROS.startswith(output)
        self._size += len(output)
        grown = self._size - self._start
        due = grown >= SPAN and self._blob_size - codec.position > _LEAST_REST and codec.position > self._position
        checkpoint = codec.checkpoint() if due else None
        if checkpoint is not None:
            self._close_span()
            self._open_span(codec.position, checkpoint)
        elif grown > MOST_SPAN:
            self.obstacle = Obstacle.ONE_FRAME

    def _open_span(self, position: int, checkpoint: bytes) -> None:
        if len(self._spans) == MOST_POINTS:
            self.obstacle = Obstacle.POINTS
            return
        if self._written + len(checkpoint) > self._limit:
            self.obstacle = Obstacle.LIMIT
            return
        self._file.write(checkpoint)
        self._start, self._position, self._zeros = self._size, position, True
        self._point = (self._written, len(checkpoint))
        self._hash = hashlib.sha256()
        self._written += len(checkpoint)

    def _close_span(self) -> None:
        self._spans.append(Span(self._start, self._position, self._hash.digest(), self._zeros, *self._point))
        self.ended(self._spans[-1])

    def ended(self, span: Span) -> None:
        """A span ends with the output that was added last. For those who keep what is in it."""

    def end(self, member: Member | None) -> None:
        """The stream is over, and was what it should be. Raises OSError."""
        if self.obstacle or not self._size:
            return
        if self._size > self._start:
            self._close_span()
        table = _Table(str(self._digest), self._blob_size, self._size, self._codec, member, self._spans)
        sealed = seal_record(_KIND, table)
        if self._written + len(sealed) > self._limit:
            self.obstacle = Obstacle.LIMIT
            return
        self._file.write(sealed)
        self._file.write(_END.pack(_END_MAGIC, self._written, len(sealed)))
        self._file.close()
        self._scratch.replace(self._path)
        self.made = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._scratch.unlink(missing_ok=True)


class Index:
    """An index that was made before. Any number of threads may ask. It is open until `close`."""

    def __init__(self, path: Path, digest: Digest) -> None:
        """Opens the index of the blob with this digest. Raises FileNotFoundError, and ImageFault Damaged."""
        self.subject = f"index {path}"
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._table = self._read_table()
            self._check(digest)
        except BaseException:
            self.close()
            raise
        self.chunks = [self._chunk(number) for number in range(len(self._table.spans))]

    def _read_table(self) -> _Table:
        status = os.fstat(self._descriptor)
        if status.st_uid != os.geteuid():
            raise ImageFault(self.subject, "Damaged", f"it belongs to user {status.st_uid}, not {os.geteuid()}")
        size = status.st_size
        end = os.pread(self._descriptor, _END.size, max(size - _END.size, 0))
        magic, start, length = _END.unpack(end) if len(end) == _END.size else (b"", 0, 0)
        if magic != _END_MAGIC or start + length + _END.size != size or length > _MOST_TABLE:
            raise ImageFault(self.subject, "Damaged", "it does not end as it should: delete it, and it is made again")
        self._points = start
        return unseal_record(_KIND, os.pread(self._descriptor, length, start), _Table, self.subject)

    def _check(self, digest: Digest) -> None:
        table = self._table
        if table.digest != str(digest):
            raise ImageFault(self.subject, "Damaged", f"it is of {table.digest}, and not of {digest}")
        starts = [span.start for span in table.spans] + [table.size]
        positions = [span.position for span in table.spans] + [table.blob_size]
        sizes = [after - before for before, after in itertools.pairwise(starts)]
        good = starts[0] == 0 <= positions[0] and all(0 < size <= 2 * MOST_SPAN for size in sizes)
        if not good or positions != sorted(set(positions)):
            raise ImageFault(self.subject, "Damaged", "its spans do not follow each other")
        member = table.member
        if member and not 0 <= member.start <= member.start + member.size <= table.size:
            raise ImageFault(self.subject, "Damaged", "its disk is not within the stream")

    @property
    def size(self) -> int:
        """That of the decompressed stream."""
        return self._table.size

    @property
    def blob_size(self) -> int:
        return self._table.blob_size

    @property
    def codec(self) -> str:
        return self._table.codec

    @property
    def member(self) -> Member | None:
        """The disk, where the stream is an archive."""
        return self._table.member

    @property
    def spans(self) -> list[Span]:
        return self._table.spans

    def _chunk(self, number: int) -> Chunk:
        """A span as a chunk: its digest and size, and where in the blob its compressed bytes are."""
        spans, table = self._table.spans, self._table
        last = number + 1 == len(spans)
        end, stop = (table.size, table.blob_size) if last else (spans[number + 1].start, spans[number + 1].position)
        span = spans[number]
        return Chunk(span.digest, end - span.start, span.position, stop)

    def checkpoint(self, number: int) -> bytes:
        """What the decompressor begins the span with; it is checked when it is used. Raises ImageFault Damaged."""
        span = self._table.spans[number]
        if not 0 <= span.point <= span.point + span.length <= self._points:
            raise ImageFault(self.subject, "Damaged", f"the point of span {number} is not within the file")
        return os.pread(self._descriptor, span.length, span.point)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
