"""Decompressors for streams of frames that stand by themselves: zstd, xz and lz4."""

import lzma
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

import lz4.frame  # type: ignore[import-untyped]
from backports import zstd

from ingot.images.codec.decompressor import PIECE
from ingot.images.fault import ImageFault
from ingot.images.seal import seal, unseal

# 128 MiB; `zstd --ultra -22` uses as much. More needs `--long=28` and up.
ZSTD_WINDOW_LOG = 27
# `xz -9` needs 65 MiB.
XZ_MEMORY = 128 << 20
# A frame gets little input at first, since what it does not use is copied, and then more and more.
_FIRST_STEP = 16 << 10
_MOST_STEP = 256 << 10
_KIND = b"ingfram1"


class _Frame(Protocol):
    """The shape that lzma.LZMADecompressor, zstd.ZstdDecompressor and lz4's have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes | memoryview, max_length: int = -1) -> bytes: ...


class Frames:
    """A Decompressor for frames one after another. Checkpoints are possible between frames."""

    def __init__(self, name: str, make: Callable[[], _Frame], subject: str, bound: str) -> None:
        """`bound` says what is taken, for who comes with more."""
        self._name = name
        self._bound = bound
        self._make = make
        self._subject = subject
        self._position = 0
        self._frame: _Frame | None = None
        self._frames = 0
        self._step = _FIRST_STEP

    @property
    def position(self) -> int:
        return self._position

    def decompress(self, data: memoryview) -> Iterator[bytes]:
        while len(data):
            if self._frame is None:
                data = self._between(data)
                self._frame, self._step = self._make() if len(data) else None, _FIRST_STEP
                continue
            frame, given = self._frame, data[: self._step]
            self._step = min(2 * self._step, _MOST_STEP)
            more: bytes | memoryview = given
            while True:
                piece = self._run(frame, more)
                if done := frame.eof or frame.needs_input:
                    # Before the last piece is given, so that a checkpoint behind it is possible.
                    data = self._used(data, frame, given)
                if piece:
                    yield piece
                if done:
                    break
                more = b""

    def _run(self, frame: _Frame, data: bytes | memoryview) -> bytes:
        try:
            return frame.decompress(data, PIECE)
        except (zstd.ZstdError, lzma.LZMAError, RuntimeError, EOFError) as error:
            raise self._fault(str(error)) from None

    def _used(self, data: memoryview, frame: _Frame, given: memoryview) -> memoryview:
        """What is left of `data` when the frame has had what it wants of `given`."""
        used = len(given)
        if frame.eof:
            used -= len(frame.unused_data or b"")
            self._frame = None
            self._frames += 1
        self._position += used
        return data[used:]

    def _between(self, data: memoryview) -> memoryview:
        """What is left for the next frame."""
        return data

    def _fault(self, said: str) -> ImageFault:
        if "too much memory" in said or "emory usage limit" in said:
            message = f"its {self._name} stream needs too much memory to be read; {self._bound} is taken"
            return ImageFault(self._subject, "TooLarge", message)
        message = f"its {self._name} stream is damaged near byte {self._position} ({said})"
        return ImageFault(self._subject, "BadData", message)

    def checkpoint(self) -> bytes | None:
        if self._frame is not None:
            return None
        return seal(_KIND, self._position.to_bytes(8, "little"))

    def resume(self, checkpoint: bytes) -> None:
        payload = unseal(_KIND, checkpoint, f"checkpoint of {self._subject}")
        self._position = int.from_bytes(payload, "little")
        self._frames = 1

    def finish(self) -> None:
        if self._frame is not None or not self._frames:
            message = f"its {self._name} stream ends at byte {self._position}, before it should"
            raise ImageFault(self._subject, "Truncated", message)


class XzStreams(Frames):
    """Between the streams of an xz file there may be zeros."""

    def _between(self, data: memoryview) -> memoryview:
        padding = len(data) - len(bytes(data).lstrip(b"\0")) if data[0] == 0 and self._frames else 0
        self._position += padding
        return data[padding:]


def frames(name: Literal["zstd", "xz", "lz4"], subject: str) -> Frames:
    """The decompressor for one of these."""
    match name:
        case "zstd":
            options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}
            bound = f"a window of at most {1 << ZSTD_WINDOW_LOG >> 20} MiB"
            return Frames(name, lambda: zstd.ZstdDecompressor(options=options), subject, bound)
        case "xz":
            bound = f"a dictionary of at most 64 MiB, as `xz -9` has, in {XZ_MEMORY >> 20} MiB of memory,"
            return XzStreams(name, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY), subject, bound)
        case "lz4":
            return Frames(name, lz4.frame.LZ4FrameDecompressor, subject, "a block of at most 4 MiB")
