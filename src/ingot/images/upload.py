"""One upload into one volume: an import in a thread of its own, which outlives the connections that bring its bytes."""

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from ingot.host.files import write_atomically
from ingot.images.fault import ImageFault
from ingot.images.pipeline.arrival import Arrival, Displaced
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.importer import Progress, import_material
from ingot.images.pipeline.material import Material, nothing
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.qcow2.header import MOST_BYTES

SUBJECT = "the upload"
# The reason of a fault that is nobody's: the next upload has ended this one.
REPLACED = "Replaced"
# How much larger than its disk an image may be: tables, frames, and what an archive has beside the disk.
_SLACK = 64 << 20
_SLACK_SHARE = 8


class _Record(msgspec.Struct):
    """What tells an upload of `length` bytes from all others, for a process that goes on with it; the size of its disk
    when it is complete; and `identity`, by which its client knows the file again ("": it told none)."""

    id: str
    length: int
    size: int | None = None
    identity: str = ""


# Fills the volume with what arrives, of an upload that this id tells from others; the disk's size. Raises ImageFault.
Fill = Callable[[Arrival, str], int]


class Upload:
    """What is uploaded to a volume. The methods are for one thread at a time; `begin` and `end` take a while.

    An upload that is begun goes on until it is whole, is found to be wrong, or another one is begun. A process that was
    killed is followed by one that goes on where the journal says: `record` is a file for that. `identity` is what the
    client calls the file that it sends, "" where it told nothing or nothing of it is kept.
    """

    def __init__(self, fill: Fill, most: int, record: Path, changed: Callable[[], None]) -> None:
        """An upload has at most `most` bytes. `changed` is called by other threads when there is something new: room,
        another offset, the end."""
        self._fill = fill
        self._most = most
        self._record = record
        self._changed = changed
        self._thread: threading.Thread | None = None
        self._arrival: Arrival | None = None
        self._brought = 0
        self.fault: ImageFault | None = None
        self.size: int | None = None
        self.identity = ""
        self.take_up()

    @property
    def complete(self) -> bool:
        """Whether the volume has the disk, of `size` bytes, whole and synced."""
        return self.size is not None

    @property
    def running(self) -> bool:
        """Whether there is an upload that is not over."""
        return self._arrival is not None

    @property
    def settled(self) -> bool:
        """Whether it is known where the upload goes on: not while its import is starting."""
        arrival = self._arrival
        return arrival is None or arrival.reading

    @property
    def offset(self) -> int:
        """Which byte is to be brought next; of a complete upload, how many there were."""
        arrival = self._arrival
        return arrival.position if arrival is not None else self._brought

    @property
    def length(self) -> int:
        """How many bytes it has in all; 0 while nobody knows."""
        arrival = self._arrival
        return arrival.size if arrival is not None else 0

    def begin(self, length: int, identity: str = "") -> None:
        """A new upload, of so many bytes (0: nobody knows). What there was of an earlier one goes, unless
        that has become complete meanwhile: then nothing is begun."""
        self.end()
        if self.complete:
            return
        self.fault = None
        record = _Record(secrets.token_hex(16), length, identity=identity)
        self._write(record)
        self._start(record)

    def take_up(self) -> None:
        """Goes on with the upload of an earlier process, or with one that something has stopped which may pass."""
        if self._arrival is not None or self.complete or (found := self._read()) is None:
            return
        self.fault = None
        self.size = found.size
        self.identity = found.identity
        if not self.complete:
            self._start(found)

    def bring(self, start: int, data: bytes) -> bool:
        """Takes the bytes from `start` on; False when there is no room now. Raises Displaced."""
        arrival = self._arrival
        if arrival is None:
            raise Displaced(0)
        return arrival.bring(start, data)

    def finish(self) -> None:
        """All bytes were brought: `complete` or `fault` tells, some time later. Where they are fewer than `length`
        this says nothing, and the upload goes on."""
        arrival = self._arrival
        if arrival is not None:
            arrival.end()

    def end(self) -> None:
        """Ends what runs; its room is given back."""
        arrival = self._arrival
        if arrival is not None and self._thread is not None:
            arrival.abandon(ImageFault(SUBJECT, REPLACED, "another upload was begun"))
            self._thread.join()

    def _start(self, record: _Record) -> None:
        arrival = Arrival(SUBJECT, record.length, self._most, self._changed)
        self.identity = record.identity
        self._arrival = arrival
        self._thread = threading.Thread(target=self._work, args=(arrival, record), name="upload", daemon=True)
        self._thread.start()

    def _work(self, arrival: Arrival, record: _Record) -> None:
        try:
            record.size = self._fill(arrival, record.id)
            self._write(record)
            self._brought = arrival.position
            self.size = record.size
        except ImageFault as fault:
            self.fault = fault
            if not fault.retry:
                self.identity = ""
                self._record.unlink(missing_ok=True)
        except Exception as error:
            self.fault = ImageFault(SUBJECT, "InternalError", f"{type(error).__name__}: {error}", retry=True)
            raise
        finally:
            self._arrival = None
            self._changed()

    def _write(self, record: _Record) -> None:
        write_atomically(self._record, msgspec.json.encode(record))

    def _read(self) -> _Record | None:
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=_Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None


def importing(target: Path, options: ImportOptions, progress: Progress) -> Fill:
    """Makes the disk in an upload the file or device `target`."""

    def fill(arrival: Arrival, identity: str) -> int:
        return import_material(lambda bounds: _opened(arrival, identity, bounds), target, options, progress).size

    return fill


def unpacking(directory: Path, limit: int, progress: Progress) -> Fill:
    """Makes the files of the archive in an upload those of a volume. One whose process is killed begins anew."""
    from ingot.images.archive.staging import Staging
    from ingot.images.archive.unpacker import publish_rest, unpack_blob

    def fill(arrival: Arrival, _identity: str) -> int:
        with Staging(directory) as staging:
            if publish_rest(staging):
                return 0
            arrival.reopen()
            return unpack_blob(arrival, None, staging, limit, progress)

    return fill


def most_bytes(room: int) -> int:
    """How large an upload may be that fills a volume with room for a disk of so many bytes (0: nobody knows)."""
    return (room or MOST_BYTES) + (room or MOST_BYTES) // _SLACK_SHARE + _SLACK


@contextlib.contextmanager
def _opened(arrival: Arrival, identity: str, bounds: Bounds) -> Iterator[Material]:
    from ingot.images.stream import Stream, open_stream

    meter = Meter()

    def stream(checkpoint: bytes | None) -> Stream:
        arrival.reopen()
        return open_stream(
            MeteredBlob(arrival, meter), resume=checkpoint, limit=bounds.most, interrupt=arrival.interrupt
        )

    yield Material(SUBJECT, f"upload:{identity}", meter, stream=stream, check=nothing)
