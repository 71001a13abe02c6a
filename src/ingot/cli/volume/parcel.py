"""A file on its way to a volume: which bytes it has, and what it is known by again when only some have arrived."""

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import click

from ingot.images.fault import ImageFault
from ingot.images.still_file import StillFile

_PIECE = 1 << 20


class Changed(click.ClickException):
    """Bytes of two versions of a file may have been sent."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """The `size` bytes of the file at `path`, as long as that is this `version` of it. By its `identity` it is known to
    others, and to later commands, also where it was moved meanwhile."""

    path: Path
    version: str
    size: int
    identity: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """The file as it is now. Raises ClickException for one that cannot be read, or that QEMU may write."""
        try:
            return cls(path, StillFile(path).identity, *_look(path))
        except ImageFault as fault:
            raise click.ClickException(str(fault)) from fault
        except OSError as error:
            raise click.ClickException(f"{path} cannot be read: {error.strerror}") from error

    def check(self) -> None:
        """Raises Changed for a file that was changed since, and ClickException as `of`."""
        if Parcel.of(self.path) != self:
            raise Changed(f"{self.path} was changed while it was sent: run the same command again")

    async def pieces(self, offset: int, tell: Callable[[int, int], None]) -> AsyncIterator[bytes]:
        """The bytes from `offset` on; `tell` gets how many are done, and how many there are. Raises ClickException
        before the last piece, without which none of them counts, for a file that was changed since."""
        with self.path.open("rb") as opened:
            opened.seek(offset)
            done = offset
            tell(done, self.size)
            while done < self.size:
                piece = opened.read(min(_PIECE, self.size - done))
                done += len(piece)
                if done == self.size or not piece:
                    await asyncio.to_thread(self.check)
                yield piece
                tell(done, self.size)


def _look(path: Path) -> tuple[int, str]:
    """The file's size, and one word, which is another one where it has another size, time of its last change, beginning
    or end: to read all of it would tell more, and take as long as to send it. Raises OSError, and
    ClickException for a device."""
    with path.open("rb") as opened:
        found = os.fstat(opened.fileno())
        if stat.S_ISBLK(found.st_mode):
            # Nothing tells that one was written meanwhile.
            message = f"{path} is a block device; send a file: `ingot image pull {path} FILE` makes one of it"
            raise click.ClickException(message)
        digest = hashlib.sha256(f"{found.st_size} {found.st_mtime_ns} ".encode())
        digest.update(opened.read(_PIECE))
        opened.seek(max(found.st_size - _PIECE, 0))
        digest.update(opened.read(_PIECE))
    return found.st_size, digest.hexdigest()
