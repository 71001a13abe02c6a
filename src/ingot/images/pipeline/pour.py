"""A stream into a target, from front to back, with a journal of places where it can go on."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.copier import SAVE_SECONDS, SYNC_SECONDS
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.sink import RAW, Sink, open_sink
from ingot.images.pipeline.target import Target
from ingot.images.pipeline.writer import Writer
from ingot.images.sniff import HEAD, sniff
from ingot.images.stream import Stream


class _Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """Where the stream goes on, with the format of the image and the state of its decoding."""

    format: str
    stream: bytes
    sink: bytes


class Pourer:
    """One pass over a stream. `open` gives it, from a checkpoint on or from its start."""

    def __init__(self, open: Callable[[bytes | None], Stream], target: Target, spool: Path) -> None:
        self._open = open
        self._format = ""
        self._target = target
        self._spool = spool
        self._resumed: _Checkpoint | None = None
        self.total = 0
        self.moved = 0
        self.written = 0
        self.spooled = 0

    def resume(self, state: State) -> bool:
        """Takes up where an earlier pass was; False when that is not known."""
        try:
            found = msgspec.msgpack.decode(state.checkpoint, type=_Checkpoint)
        except msgspec.DecodeError:
            return False
        self._resumed = found
        self._format = found.format
        self.moved = state.moved
        return True

    def run(self, journal: Journal, bounds: Bounds, progress: Callable[[int, int], None]) -> int:
        """Writes the rest of the disk; its size. Raises ImageFault and OSError, with all threads ended."""
        writer = Writer(self._target)
        try:
            with self._open(self._resumed.stream if self._resumed else None) as stream:
                # What was decoded beyond the checkpoint is decoded again.
                self.moved, self.total = stream.begun, stream.total
                # On a slow line the first piece takes a while.
                progress(self.moved, self.total)
                self._format = self._format or _format(stream, bounds)
                return self._pour(stream, writer, _Saving(journal, self._target), bounds, progress)
        finally:
            writer.close()
            self.written = writer.written

    def _pour(
        self, stream: Stream, writer: Writer, saving: "_Saving", bounds: Bounds, progress: Callable[[int, int], None]
    ) -> int:
        begun = self._resumed.sink if self._resumed else b""
        sink = open_sink(self._format, stream.subject, writer.put, bounds, self._spool, begun)
        try:
            if self._resumed is not None:
                self._clear(sink)
            for data in stream:
                sink.feed(data)
                self.moved = stream.fetched
                progress(self.moved, self.total)
                if saving.due and (checkpoint := stream.checkpoint()) and (state := sink.state()) is not None:
                    packed = msgspec.msgpack.encode(_Checkpoint(self._format, checkpoint, state))
                    saving.save(writer, sink, packed, self.moved)
            size = sink.finish()
            writer.finish()
            self.spooled = sink.spooled
            return size
        finally:
            sink.close()

    def _clear(self, sink: Sink) -> None:
        """The earlier pass may have gone on behind its checkpoint with bytes that were wrong; and zeros are not
        written. Raises ImageFault BadCheckpoint where the filesystem cannot do that."""
        try:
            self._target.clear(sink.stale())
        except OSError as error:
            message = f"the import cannot go on where it was ({error.strerror}): begin again"
            raise ImageFault(str(self._spool), "BadCheckpoint", message, retry=True) from None


def _format(stream: Stream, bounds: Bounds) -> str:
    """What the disk is in. Raises ImageFault for a raw one that is known to be too large, before it is written."""
    format = sniff(stream.head(HEAD))
    if format in RAW and stream.size is not None:
        bounds.check(stream.size)
    return format


class _Saving:
    """Writes the journal when that is due, behind the bytes that it tells of."""

    def __init__(self, journal: Journal, target: Target) -> None:
        self._journal = journal
        self._target = target
        self._saved = self._synced = time.monotonic()

    @property
    def due(self) -> bool:
        return time.monotonic() - self._saved >= SAVE_SECONDS

    def save(self, writer: Writer, sink: Sink, checkpoint: bytes, moved: int) -> None:
        self._saved = time.monotonic()
        lasting = self._saved - self._synced >= SYNC_SECONDS
        if lasting:
            self._synced = self._saved

        def work() -> None:
            state = State(checkpoint=checkpoint, clusters=self._target.state(), moved=moved)
            if lasting:
                sink.sync()
                self._target.sync()
                self._journal.save_durable(state)
            else:
                self._journal.save(state)
            sink.note(lasting)

        writer.then(work)
