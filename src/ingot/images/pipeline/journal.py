"""What an import has done so far, kept beside its target, so that the next one goes on from there.

What a killed process wrote is in the kernel's hands and counts as long as the machine runs. After a restart of the
machine only what had been synced counts: the journal keeps both, and the boot's id to tell which.
"""

import os
from pathlib import Path

import msgspec

from ingot.host.files import sync_directory

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


class _Record(msgspec.Struct):
    """`source` and `wanted` are what the import is of and what it makes, `place` where its bytes are; all must be the
    same to go on."""

    source: str
    wanted: str
    place: str
    boot: str
    latest: State
    durable: State | None = None
    # The number of the finished file and the size of its disk, written before it gets its name; zeros before that.
    published: tuple[int, int] = (0, 0)


class Journal:
    """The journal at `path`, for an import of `source` that makes `wanted` in `place`. One process at a time may use
    it."""

    def __init__(self, path: Path, source: str, wanted: str, place: str) -> None:
        self.path = path
        self._record = _Record(source, wanted, place, boot_id(), State())

    def load(self) -> State | None:
        """Where an earlier import of the same left off; None if there was none, or if it cannot be relied upon."""
        try:
            if self.path.stat().st_size > _LARGEST:
                return None
            found = msgspec.msgpack.decode(self.path.read_bytes(), type=_Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        own = self._record
        if not own.source or (found.source, found.wanted) != (own.source, own.wanted):
            return None
        state = found.latest if found.boot == own.boot else found.durable
        if state is None or (found.place != own.place and not found.published[0]):
            return None
        own.latest, own.durable, own.published = state, found.durable, found.published
        return state

    @property
    def published(self) -> tuple[int, int]:
        """The number of the file that a loaded journal says is finished, and its disk's size; zeros if none is."""
        return self._record.published

    def save(self, state: State) -> None:
        """Remembers that this much is written, though perhaps not on disk yet. Raises OSError."""
        self._record.latest = state
        self._write(sync=False)

    def save_durable(self, state: State) -> None:
        """Remembers that this much is on disk, whatever happens to the machine. Raises OSError."""
        self._record.durable = state
        self._write(sync=True)

    def save_published(self, number: int, size: int, *, lasting: bool) -> None:
        """Remembers that the disk, of `size` bytes, is whole in the file with this number; `lasting`: whatever happens
        to the machine. Raises OSError."""
        self._record.published = (number, size)
        self._record.durable = self._record.latest
        self._write(sync=lasting)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _write(self, sync: bool) -> None:
        # One name for the scratch file, so that a killed process leaves at most one behind.
        scratch = self.path.with_name(f"{self.path.name}.new")
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
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
