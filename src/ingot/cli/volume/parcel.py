"""A file on its way to a volume: which bytes it has, and what it is known by again when only some have arrived."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import click

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Parcel:
    """The `size` bytes of the file at `path`, as long as that has this `identity`."""

    path: Path
    size: int
    identity: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """The file as it is now. Raises ClickException for one that cannot be read."""
        return cls(path, *_look(path))

    def check(self) -> None:
        """Raises ClickException for a file that was changed since, or cannot be read any more."""
        if _look(self.path) != (self.size, self.identity):
            raise click.ClickException(f"{self.path} was changed while it was sent: run the same command again")

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
    or end: to read all of it would tell more, and take as long as to send it. Raises ClickException."""
    try:
        with path.open("rb") as opened:
            found = os.fstat(opened.fileno())
            digest = hashlib.sha256(f"{found.st_size} {found.st_mtime_ns} ".encode())
            digest.update(opened.read(_PIECE))
            opened.seek(max(found.st_size - _PIECE, 0))
            digest.update(opened.read(_PIECE))
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}") from error
    return found.st_size, digest.hexdigest()
