"""Whose the volumes in a directory are: a small file for each, written before anything of the volume is there."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import msgspec

from ingot.host.files import sync_directory, write_atomically


@dataclass(frozen=True, slots=True)
class Record:
    """For which claim of which cluster a volume is, or for which VolumeSnapshot a snapshot.

    `retained` ones outlive their object: nobody but a person deletes them. Of a snapshot there is told how large a
    volume must be to hold it, when it was taken, in nanoseconds since 1970, and which of its files is a packed disk.
    """

    name: str
    cluster: str
    namespace: str
    claim: str
    claim_uid: str
    block: bool
    retained: bool = False
    size: int = 0
    taken: int = 0
    packed: str = ""

    @classmethod
    def read(cls, content: bytes) -> Self:
        return cls(**msgspec.json.decode(content))


class Records:
    """The records in one directory, each whole or not there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def prepare(self) -> None:
        """Make the directory ready, and clear what a process that was killed was writing."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        for scratch in self._directory.glob(".*"):
            scratch.unlink()

    def names(self) -> list[str]:
        """What there are records of; nothing where none was ever written."""
        if not self._directory.is_dir():
            return []
        return sorted(path.name for path in self._directory.iterdir() if not path.name.startswith("."))

    def read(self, name: str) -> Record | None:
        try:
            return Record.read((self._directory / name).read_bytes())
        except FileNotFoundError:
            return None

    def write(self, record: Record) -> None:
        """Write the record so that it lasts."""
        write_atomically(self._directory / record.name, _encoded(record))

    def begin(self, record: Record) -> None:
        """Write the record of what is about to be made. It outlives this process; `sync` makes it last."""
        scratch = self._directory / f".{record.name}.{os.urandom(4).hex()}"
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_encoded(record))
        scratch.replace(self._directory / record.name)

    def sync(self, name: str) -> None:
        """Make a record that was begun last."""
        with (self._directory / name).open("rb") as file:
            os.fsync(file.fileno())
        sync_directory(self._directory)

    def forget(self, name: str) -> None:
        """Drop the record of what is gone."""
        (self._directory / name).unlink(missing_ok=True)
        sync_directory(self._directory)


def _encoded(record: Record) -> bytes:
    return msgspec.json.encode(asdict(record))
