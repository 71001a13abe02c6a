"""Intel's ISA-L, which inflates more than twice as fast as zlib, bound by ctypes: a call runs without the GIL."""

import ctypes
import functools
import hashlib
from ctypes import c_byte, c_int, c_int16, c_int32, c_uint32, c_uint64, c_void_p

from ingot.images.fault import ImageFault
from ingot.images.library import load

_LIBRARY = "libisal.so.2"
# The states and answers of <isa-l/igzip_lib.h> that are asked for here.
BLOCK_FINISH = 5
DECOMP_OK = 0
END_INPUT = 1
OUT_OVERFLOW = 2
# For `crc_flag`: raw deflate, and behind it gzip's checksum and length, which are checked.
GZIP_BODY = 6
# How far back a reference may go.
HISTORY = 32 << 10
# "abc" as raw deflate, with the codes that the standard fixes.
_GUARD = 4096
_KNOWN = bytes.fromhex("4b4c4a0600")


class InflateState(ctypes.Structure):
    """`struct inflate_state` of <isa-l/igzip_lib.h>: all there is between two calls, without pointers of its own."""

    _fields_ = (
        ("next_out", c_void_p),
        ("avail_out", c_uint32),
        ("total_out", c_uint32),
        ("next_in", c_void_p),
        ("read_in", c_uint64),
        ("avail_in", c_uint32),
        ("read_in_length", c_int32),
        ("lit_huff_code", c_byte * 18912),
        ("dist_huff_code", c_byte * 2208),
        ("block_state", c_int),
        ("dict_length", c_uint32),
        ("bfinal", c_uint32),
        ("crc_flag", c_uint32),
        ("crc", c_uint32),
        ("hist_bits", c_uint32),
        ("count", c_int32),
        ("write_overflow_lits", c_int32),
        ("write_overflow_len", c_int32),
        ("copy_overflow_length", c_int32),
        ("copy_overflow_distance", c_int32),
        ("wrapper_flag", c_int16),
        ("tmp_in_size", c_int16),
        ("tmp_out_valid", c_int32),
        ("tmp_out_processed", c_int32),
        ("tmp_in_buffer", c_byte * 328),
        ("tmp_out_buffer", c_byte * 65824),
    )


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library. Raises ImageFault when it is not installed."""
    loaded = load(_LIBRARY, "ISA-L", "libisal2")
    for name in ("isal_inflate_init", "isal_inflate_reset"):
        getattr(loaded, name).restype = None
    for name in ("isal_inflate", "isal_inflate_stateless"):
        getattr(loaded, name).restype = c_int
    return loaded


@functools.cache
def fingerprint() -> bytes:
    """Eight bytes that change with the layout and meaning of the state, so that no state of another build is taken
    for one of this. Raises ImageFault when the library's state is not what is written above."""
    room = bytearray(b"\xa5") * (ctypes.sizeof(InflateState) + _GUARD)
    state = InflateState.from_buffer(room)
    source, target = bytearray(_KNOWN), bytearray(16)
    library().isal_inflate_init(ctypes.byref(state))
    state.next_in, state.avail_in = address(source), len(source)
    state.next_out, state.avail_out = address(target), len(target)
    answer = library().isal_inflate(ctypes.byref(state))
    intact = room[-_GUARD:] == b"\xa5" * _GUARD
    said = (answer, state.block_state, state.avail_in, state.total_out, bytes(target[:3]), intact)
    if said != (DECOMP_OK, BLOCK_FINISH, 0, 3, b"abc", True):
        message = f"{_LIBRARY} is of a version whose state is not known; install Debian 12's libisal2"
        raise ImageFault("ISA-L", "Unknown", message)
    return hashlib.sha256(bytes(state.lit_huff_code) + bytes(state.dist_huff_code)).digest()[:8]


def address(buffer: bytearray | memoryview) -> int:
    """Where the bytes of a writable buffer are. The caller keeps the buffer alive and its size unchanged."""
    return ctypes.addressof(c_byte.from_buffer(buffer))


class Inflater:
    """Inflates pieces of raw deflate that stand by themselves, such as the clusters of a qcow2. For one thread."""

    def __init__(self) -> None:
        loaded = library()
        self._state = InflateState()
        self._reference = ctypes.byref(self._state)
        self._reset = loaded.isal_inflate_reset
        self._inflate = loaded.isal_inflate_stateless
        loaded.isal_inflate_init(self._reference)

    def inflate(self, source: int, length: int, target: int, size: int) -> int:
        """Inflates from the address `source` to exactly `size` bytes at `target`. How many bytes the stream has; 0 when
        it is damaged, does not end within `length`, or makes fewer or more bytes.

        What follows the end of the stream is not looked at. Nothing is written beyond `size`.
        """
        state = self._state
        self._reset(self._reference)
        state.next_in, state.avail_in = source, length
        state.next_out, state.avail_out = target, size
        answer: int = self._inflate(self._reference)
        if answer != DECOMP_OK or state.avail_out or state.block_state != BLOCK_FINISH:
            return 0
        # Whole bytes that are in the state already do not belong to the stream any more.
        return length - int(state.avail_in) - int(state.read_in_length) // 8
