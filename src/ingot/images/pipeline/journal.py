"""What an import has done so far, kept beside its target, so that the next one goes on from there.

What a killed process wrote is in the kernel's hands and counts as long as the machine runs. After a restart of the
machine only what had been synced counts: the journal keeps both, and the boot's id to tell which.
"""

import os
from pathlib import Path

import msgspec

from ingot.host.files import sync_directory
from ingot.images.own_file import create_own, open_own

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# A journal of more is not one of ours.
_LARGEST = 256 << 20


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is written to the target.

    `plan` is the digest of the plan whose units `done` marks, a bit for each; `checkpoint` is where a stream goes on;
    `clusters` maps a qcow2 that is written. `moved` counts the bytes, for progress.
    """

    plan: bytes = b""
    done: bytes = b""
    checkpoint: bytes = b""
    clusters: bytes = b""
    moved: int = 0


class Finished(msgspec.Struct, frozen=True):
    """A disk of `size` bytes that is whole, in the file or device that has this `mark`, and no other has."""

    mark: str
    size: int


class _Record(msgspec.Struct):
    """`source` and `wanted` are what the import is of and what it makes, `place` where its bytes are; all must be the
    same to go on."""

    source: str
    wanted: str
    place: str
    boot: str
    latest: State | None = None
    durable: State | None = None
    finished: Finished | None = None


class Journal:
    """The journal at `path`, for an import of `source` that makes `wanted` in `place`. One process at a time may use
    it."""

    def __init__(self, path: Path, source: str, wanted: str, place: str) -> None:
        self.path = path
        self._record = _Record(source, wanted, place, boot_id())

    def load(self) -> State | None:
        """Where an earlier import of the same left off; None if there was none, or if it cannot be relied upon."""
        found, own = self._read(), self._record
        if found is None or not self._is_same(found) or found.place != own.place:
            return None
        state = found.latest if found.boot == own.boot else found.durable
        own.latest, own.durable = state, found.durable
        return state

    @property
    def moved(self) -> int:
        """From how many bytes on the next import of the same goes on; 0 where it begins anew."""
        state = self._record.latest
        return state.moved if state and self._record.source else 0

    def finished(self) -> Finished | None:
        """What an earlier import of the same has finished, wherever its bytes were on the way; None if it has not."""
        found = self._read()
        return found.finished if found and self._is_same(found) else None

    def finished_by_another(self) -> Finished | None:
        """What an import of another source, or with other wishes, has finished."""
        found = self._read()
        return found.finished if found and not self._is_same(found) else None

    def _is_same(self, found: _Record) -> bool:
        own = self._record
        return bool(own.source) and (found.source, found.wanted) == (own.source, own.wanted)

    def _read(self) -> _Record | None:
        """What is written by this user; others could write anything."""
        try:
            with os.fdopen(open_own(self.path), "rb") as file:
                if os.fstat(file.fileno()).st_size > _LARGEST:
                    return None
                return msgspec.msgpack.decode(file.read(), type=_Record)
        except (OSError, msgspec.DecodeError):
            return None

    def save(self, state: State) -> None:
        """Remembers that this much is written, though perhaps not on disk yet. Raises OSError."""
        self._record.latest = state
        self._write(sync=False)

    def save_durable(self, state: State) -> None:
        """Remembers that this much is on disk, whatever happens to the machine. Raises OSError."""
        self._record.latest = self._record.durable = state
        self._write(sync=True)

    def save_finished(self, finished: Finished, *, for_good: bool) -> None:
        """Remembers that the disk is whole; `for_good`: whatever happens to the machine, and so that nobody goes on
        with what was written before. Raises OSError."""
        self._record.finished = finished
        if for_good:
            self._record.latest = self._record.durable = None
        self._write(sync=for_good)

    def remove(self) -> None:
        """Forgets how far it was: nobody must go on from there when the next state is saved."""
        self._record.latest = self._record.durable = None
        self.path.unlink(missing_ok=True)

    def _write(self, sync: bool) -> None:
        # One name for the scratch file, so that a killed process leaves at most one behind.
        scratch = self.path.with_name(f"{self.path.name}.new")
        descriptor = create_own(scratch)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.msgpack.encode(self._record))
                if sync:
                    file.flush()
                    os.fsync(descriptor)
            scratch.replace(self.path)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise
        if sync:
            sync_directory(self.path.parent)


def boot_id() -> str:
    """The id of this run of the machine; where it cannot be known, one that no other run shares."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return os.urandom(16).hex()
