"""libzstd bound by ctypes: frames inflate straight into memory that is there already, and without the GIL.

For chunks of 64 KiB it takes a fifth less time than an object and a new buffer for each.
"""

import ctypes
import functools
import threading
from ctypes import c_char, c_char_p, c_size_t, c_uint, c_void_p

from ingot.images.fault import ImageFault

_LIBRARY = "libzstd.so.1"
_own = threading.local()


class BadFrame(ValueError):
    """Frames that do not inflate, or to more than there is room for: the message says which."""


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        loaded = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        message = f"{_LIBRARY} cannot be loaded ({error}): install Debian's package libzstd1"
        raise ImageFault("zstd", "Missing", message) from None
    loaded.ZSTD_createDCtx.restype = c_void_p
    loaded.ZSTD_freeDCtx.argtypes = (c_void_p,)
    loaded.ZSTD_decompressDCtx.argtypes = (c_void_p, c_void_p, c_size_t, c_void_p, c_size_t)
    loaded.ZSTD_decompressDCtx.restype = c_size_t
    loaded.ZSTD_isError.argtypes = loaded.ZSTD_getErrorName.argtypes = (c_size_t,)
    loaded.ZSTD_isError.restype = c_uint
    loaded.ZSTD_getErrorName.restype = c_char_p
    return loaded


class _Context:
    """What a thread inflates with; freed with the thread."""

    def __init__(self) -> None:
        self._library = _library()
        self.pointer = self._library.ZSTD_createDCtx()
        if not self.pointer:
            raise MemoryError("zstd gets no memory")

    def __del__(self) -> None:
        self._library.ZSTD_freeDCtx(self.pointer)


def inflate_into(source: memoryview, target: memoryview) -> int:
    """Inflates all frames in `source` to the front of `target`; how many bytes they have. Both must be writable, for
    only such memory has an address. Raises BadFrame, also where `target` is too small."""
    try:
        context = _own.context
    except AttributeError:
        context = _own.context = _Context()
    library = _library()
    count: int = library.ZSTD_decompressDCtx(
        context.pointer, _address(target), len(target), _address(source), len(source)
    )
    if library.ZSTD_isError(count):
        raise BadFrame(library.ZSTD_getErrorName(count).decode())
    return count


def _address(memory: memoryview) -> int | None:
    return ctypes.addressof(c_char.from_buffer(memory)) if len(memory) else None
