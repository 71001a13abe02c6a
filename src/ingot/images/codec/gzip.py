"""gzip through ISA-L, with checkpoints at any place."""

import ctypes
from collections.abc import Iterator

import msgspec
from backports import zstd

from ingot.images.codec.decompressor import PIECE, PIECES
from ingot.images.codec.gzip_header import MOST_HEADER, BadHeader, header_length
from ingot.images.codec.isal import BLOCK_FINISH, GZIP_BODY, HISTORY, InflateState, address, fingerprint, library
from ingot.images.fault import ImageFault
from ingot.images.ring import Ring
from ingot.images.seal import seal_record, unseal_record

_KIND = b"inggzip1"
_WRONG = {
    -1: "a block of an unknown type or with a bad code",
    -2: "a code that stands for nothing",
    -3: "a reference to before its start",
    -6: "a checksum that does not fit",
}
_STATE = ctypes.sizeof(InflateState)


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint: the whole state of ISA-L, compressed, which is good for the build with this fingerprint only."""

    fingerprint: bytes
    position: int
    header: bytes | None
    members: int
    padding: bool
    state: bytes


class Gzip:
    """A Decompressor for the members of a gzip file one after another; zeros behind the last are let pass, as gzip(1)
    does, and anything else is refused. The checksum and length of each member are checked."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        # Where in the stream the bytes begin that are in hand, and how many they are.
        self._start = 0
        self._length = 0
        # What there is of the header of the next member; None within a member.
        self._header: bytearray | None = bytearray()
        self._members = 0
        self._padding = False
        self._state = InflateState()
        self._reference = ctypes.byref(self._state)
        self._library = library()
        self._library.isal_inflate_init(self._reference)
        self._buffers = Ring(PIECES, PIECE)

    @property
    def position(self) -> int:
        return self._start + self._length - int(self._state.avail_in)

    def decompress(self, data: memoryview) -> Iterator[memoryview]:
        """As Decompressor's. A read-only `data` is copied."""
        view = memoryview(bytearray(data)) if data.readonly else data
        state = self._state
        self._start, self._length = self.position, len(view)
        state.next_in, state.avail_in = address(view) if len(view) else None, len(view)
        while state.avail_in or not state.avail_out:
            if self._header is not None and not self._begin(self._header, view[len(view) - state.avail_in :]):
                return
            buffer = self._buffers.next()
            state.next_out, state.avail_out = address(buffer), PIECE
            answer = self._library.isal_inflate(self._reference)
            if answer < 0:
                raise self._fault(_WRONG.get(answer, f"ISA-L's error {answer}"))
            if state.block_state == BLOCK_FINISH:
                self._header = bytearray()
                self._members += 1
            if state.avail_out < PIECE:
                yield buffer[: PIECE - state.avail_out]

    def _begin(self, header: bytearray, data: memoryview) -> bool:
        """Reads the header of a member, or what is behind the last; whether a member has begun."""
        state = self._state
        if self._members and not header and (self._padding or bytes(data[:1]) == b"\0"):
            self._padding = True
            state.avail_in = 0
            if bytes(data).lstrip(b"\0"):
                raise self._fault("something else than zeros behind the zeros that follow its last member")
            return False
        before = len(header)
        header += data[: MOST_HEADER - before]
        try:
            end = header_length(header)
        except BadHeader as error:
            where = " behind a member" if self._members else ""
            raise self._fault(f"{error}{where}") from None
        used = len(data) if end is None else end - before
        state.avail_in -= used
        if end is None:
            return False
        rest, next_in = state.avail_in, state.next_in + used
        self._library.isal_inflate_reset(self._reference)
        state.crc_flag, state.next_in, state.avail_in = GZIP_BODY, next_in, rest
        self._header = None
        return True

    def _fault(self, what: str) -> ImageFault:
        message = f"its gzip stream is damaged near byte {self.position}: {what}"
        return ImageFault(self._subject, "BadData", message)

    def checkpoint(self) -> bytes:
        frozen = InflateState.from_buffer_copy(self._state)
        frozen.next_in = frozen.next_out = None
        frozen.avail_in = 0
        # What nobody looks at any more compresses to nothing.
        out = memoryview(frozen.tmp_out_buffer).cast("B")
        before = max(frozen.tmp_out_processed - HISTORY, 0)
        out[:before] = bytes(before)
        out[frozen.tmp_out_valid :] = bytes(len(out) - frozen.tmp_out_valid)
        header = None if self._header is None else bytes(self._header)
        state = zstd.compress(bytes(frozen), 1)
        kept = _Kept(fingerprint(), self.position, header, self._members, self._padding, state)
        return seal_record(_KIND, kept)

    def resume(self, checkpoint: bytes) -> None:
        subject = f"checkpoint of {self._subject}"
        kept = unseal_record(_KIND, checkpoint, _Kept, subject)
        if kept.fingerprint != fingerprint():
            raise ImageFault(subject, "Damaged", "it was made with another build of ISA-L; start over")
        state = zstd.decompress(kept.state)
        if len(state) != _STATE:
            raise ImageFault(subject, "Damaged", f"its state has {len(state)} bytes; it must have {_STATE}")
        self._start, self._length = kept.position, 0
        self._header = None if kept.header is None else bytearray(kept.header)
        self._members, self._padding = kept.members, kept.padding
        ctypes.memmove(self._reference, state, _STATE)

    def finish(self) -> None:
        if not self._members or self._header is None or self._header:
            message = f"its gzip stream ends at byte {self.position}, before it should"
            raise ImageFault(self._subject, "Truncated", message)
