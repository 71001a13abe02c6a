"""gzip through ISA-L, with checkpoints at any place."""

import ctypes
from collections.abc import Iterator

from backports import zstd

from ingot.images.codec.decompressor import PIECE, PIECES
from ingot.images.codec.isal import BLOCK_FINISH, GZIP, HISTORY, InflateState, address, fingerprint, library
from ingot.images.fault import ImageFault
from ingot.images.ring import Ring
from ingot.images.seal import seal, unseal

_KIND = b"inggzip1"
_WRONG = {
    -1: "a block of an unknown type or with a bad code",
    -2: "a code that stands for nothing",
    -3: "a reference to before its start",
    -4: "no gzip header where one should be",
    -5: "another method than deflate",
    -6: "a checksum that does not fit",
}
_STATE = ctypes.sizeof(InflateState)


class Gzip:
    """A Decompressor for the members of a gzip file one after another; zeros behind the last are let pass, as gzip(1)
    does, and anything else is refused. The checksum and length of each member are checked."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._position = 0
        self._start = 0
        self._length = 0
        self._members = 0
        self._padding = False
        self._state = InflateState()
        self._reference = ctypes.byref(self._state)
        self._library = library()
        self._library.isal_inflate_init(self._reference)
        self._state.crc_flag = GZIP
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
            if state.block_state == BLOCK_FINISH and self._ended(view[len(view) - state.avail_in :]):
                state.avail_in = 0
                return
            buffer = self._buffers.next()
            state.next_out, state.avail_out = address(buffer), PIECE
            answer = self._library.isal_inflate(self._reference)
            if answer < 0:
                raise self._fault(answer)
            if state.avail_out < PIECE:
                yield buffer[: PIECE - state.avail_out]

    def _ended(self, rest: memoryview) -> bool:
        """Behind a member: whether there is nothing but padding. If not, what comes must be the next member."""
        if not len(rest):
            return True
        if self._padding or rest[0] == 0:
            self._padding = True
            if any(rest):
                message = f"after its gzip members there is something else, before byte {self._start + self._length}"
                raise ImageFault(self._subject, "BadData", message)
            return True
        self._library.isal_inflate_reset(self._reference)
        self._state.crc_flag = GZIP
        self._members += 1
        return False

    def _fault(self, answer: int) -> ImageFault:
        what = _WRONG.get(answer, f"ISA-L's error {answer}")
        if self._members and answer == -4:
            what = "neither another member nor zeros behind its last member"
        message = f"its gzip stream is damaged near byte {self.position}: {what}"
        return ImageFault(self._subject, "BadData", message)

    def checkpoint(self) -> bytes:
        """The whole state of ISA-L, which is good for the same build of it only, and so says which that is."""
        frozen = InflateState.from_buffer_copy(self._state)
        frozen.next_in = frozen.next_out = None
        frozen.avail_in = 0
        # What nobody looks at any more compresses to nothing.
        out = memoryview(frozen.tmp_out_buffer).cast("B")
        before = max(frozen.tmp_out_processed - HISTORY, 0)
        out[:before] = bytes(before)
        out[frozen.tmp_out_valid :] = bytes(len(out) - frozen.tmp_out_valid)
        facts = self.position.to_bytes(8, "little") + bytes((self._members > 0, self._padding))
        return seal(_KIND, fingerprint() + facts + zstd.compress(bytes(frozen), 1))

    def resume(self, checkpoint: bytes) -> None:
        subject = f"checkpoint of {self._subject}"
        payload = unseal(_KIND, checkpoint, subject)
        mark = len(fingerprint())
        if payload[:mark] != fingerprint():
            raise ImageFault(subject, "Damaged", "it was made with another build of ISA-L; start over")
        self._start, self._length = int.from_bytes(payload[mark : mark + 8], "little"), 0
        self._members, self._padding = int(payload[mark + 8]), bool(payload[mark + 9])
        ctypes.memmove(self._reference, zstd.decompress(payload[mark + 10 :]), _STATE)

    def finish(self) -> None:
        if self._state.block_state != BLOCK_FINISH:
            message = f"its gzip stream ends at byte {self.position}, before it should"
            raise ImageFault(self._subject, "Truncated", message)
