"""SHA-256 that can be written down in the middle and go on in another process. hashlib's cannot."""

import ctypes
import functools
from ctypes import c_char_p, c_int, c_size_t, c_uint32, c_void_p
from typing import Self

from ingot.images.library import load

_LIBRARY = "libcrypto.so.3"
_BLOCK = 64
_DIGEST = 32


class _Context(ctypes.Structure):
    """`SHA256_CTX` of <openssl/sha.h>, without pointers."""

    _fields_ = (
        ("h", c_uint32 * 8),
        ("Nl", c_uint32),
        ("Nh", c_uint32),
        ("data", c_uint32 * 16),
        ("num", c_uint32),
        ("md_len", c_uint32),
    )


@functools.cache
def _library() -> ctypes.CDLL:
    loaded = load(_LIBRARY, "OpenSSL", "libssl3")
    loaded.SHA256_Init.argtypes = (c_void_p,)
    loaded.SHA256_Update.argtypes = (c_void_p, c_void_p, c_size_t)
    loaded.SHA256_Final.argtypes = (c_char_p, c_void_p)
    for name in ("SHA256_Init", "SHA256_Update", "SHA256_Final"):
        getattr(loaded, name).restype = c_int
    return loaded


class Sha256:
    """A SHA-256 that is being computed. For one thread at a time; `update` runs without the GIL."""

    def __init__(self) -> None:
        self._context = _Context()
        self._library = _library()
        self._library.SHA256_Init(ctypes.addressof(self._context))

    @classmethod
    def from_state(cls, state: bytes) -> Self:
        """Goes on where `state` was taken. Raises ValueError for what cannot be a state."""
        hashing = cls()
        if len(state) != ctypes.sizeof(_Context):
            raise ValueError("a state of SHA-256 has another length")
        context = _Context.from_buffer_copy(state)
        if context.num >= _BLOCK or context.md_len != _DIGEST:
            raise ValueError("not a state of SHA-256")
        hashing._context = context
        return hashing

    def state(self) -> bytes:
        """All there is to know, for `from_state`."""
        return bytes(self._context)

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Takes more bytes. A read-only view is copied first."""
        view = memoryview(data)
        if not len(view):
            return
        if view.readonly:
            view = memoryview(bytearray(view))
        first = ctypes.c_char.from_buffer(view)
        self._library.SHA256_Update(ctypes.addressof(self._context), ctypes.addressof(first), view.nbytes)

    def digest(self) -> bytes:
        """The digest of what was taken so far; more can be taken afterwards."""
        context = _Context.from_buffer_copy(self._context)
        result = ctypes.create_string_buffer(_DIGEST)
        self._library.SHA256_Final(result, ctypes.addressof(context))
        return result.raw

    def hexdigest(self) -> str:
        return self.digest().hex()
