"""The one server of a directory: its lock, where it is, and how to end it."""

import contextlib
import fcntl
import json
import os
import select
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ingot.host.files import write_atomically
from ingot.host.process import born

# Whoever looks at a directory holds its lock for an instant; wait that long before calling it taken.
_PATIENCE = 1.0
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Record:
    """What a server writes about itself. `born` tells its process from a later one with the same number."""

    pid: int
    born: int
    address: str
    since: float

    @classmethod
    def of_this_process(cls, address: str) -> Self:
        return cls(os.getpid(), born(os.getpid()), address, time.time())

    def alive(self) -> bool:
        return self.born > 0 and born(self.pid) == self.born


class DirectoryInUseError(Exception):
    """Another server has the directory. `record` is None while it is still starting."""

    def __init__(self, directory: Path, record: Record | None) -> None:
        who = f"pid {record.pid} at {record.address}" if record else "a process that is just starting"
        super().__init__(f"{directory} is in use by {who}; end it with: ingot down --dir {directory}")
        self.directory = directory
        self.record = record


class NotEndedError(Exception):
    """The server was asked to end and did not."""

    def __init__(self, record: Record, why: str) -> None:
        super().__init__(f"pid {record.pid} at {record.address} {why}")
        self.record = record


class DirectoryLock:
    """The right to serve a directory, held until `close` or the end of the process, however it ends.

    A forked child shares it: it is free when the last of them has closed it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._descriptor = -1

    def acquire(self) -> None:
        """Makes the directory if needed. Raises DirectoryInUseError."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + _PATIENCE
        while not _try_lock(self._descriptor, fcntl.LOCK_EX):
            record = _read(self.directory)
            alive = record is not None and record.alive()
            if alive or time.monotonic() > deadline:
                self.close()
                raise DirectoryInUseError(self.directory, record if alive else None)
            time.sleep(_PAUSE)

    def publish(self, address: str) -> None:
        """Tells others that this process serves the directory at `address`."""
        content = json.dumps(asdict(Record.of_this_process(address)), indent=2)
        write_atomically(_record_path(self.directory), f"{content}\n".encode())

    def withdraw(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            _record_path(self.directory).unlink()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_locked(directory: Path) -> bool:
    """Whether a server has the directory, ready or not."""
    try:
        descriptor = os.open(directory / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def running(directory: Path) -> Record | None:
    """The server of the directory, once it answers; None when there is none, or none yet."""
    if not is_locked(directory):
        return None
    record = _read(directory)
    return record if record is not None and record.alive() else None


def end(directory: Path, seconds: float) -> Record | None:
    """Ends the directory's server and waits for it; None when none is running. Raises NotEndedError.

    Only the process that holds the lock is ever signalled, whatever has become of its number since.
    """
    record = running(directory)
    if record is None:
        return None
    try:
        process = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return record
    try:
        if not record.alive():
            return record
        signal.pidfd_send_signal(process, signal.SIGTERM)
        if not select.select([process], [], [], seconds)[0]:
            raise NotEndedError(
                record,
                f"did not end in {seconds:g} s; see {directory / 'ingot.log'}, or end it with: kill -9 {record.pid}",
            )
    except PermissionError as error:
        raise NotEndedError(record, "belongs to another user; run this as that user or as root") from error
    finally:
        os.close(process)
    return record


def _try_lock(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _record_path(directory: Path) -> Path:
    return directory / "process.json"


def _read(directory: Path) -> Record | None:
    try:
        return Record(**json.loads(_record_path(directory).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
