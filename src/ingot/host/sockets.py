"""Unix sockets wherever they are: the kernel takes names of at most 107 bytes, directories may be deeper."""

import asyncio
import contextlib
import errno
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

LONGEST = 107


@contextlib.contextmanager
def short(path: Path) -> Iterator[str]:
    """A name of the same socket that the kernel takes, for as long as the block lasts."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def listen(path: Path, mode: int = 0o600) -> socket.socket:
    """A listening socket at `path`, for those whom `mode` admits. One that an earlier process left is replaced; any
    other file stays, and is a FileExistsError.

    It is there in one step: nobody finds it closed, or with other rights.
    """
    _spare(path)
    scratch = path.with_name(f".{secrets.token_hex(4)}")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short(scratch) as name:
            made.bind(name)
        scratch.chmod(mode)
        made.listen()
        made.setblocking(False)
        scratch.replace(path)
    except OSError:
        made.close()
        scratch.unlink(missing_ok=True)
        raise
    return made


def _spare(path: Path) -> None:
    """Raises FileExistsError where a file is that is no socket."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "a file is there that is no socket", str(path))


async def dial(path: Path) -> socket.socket:
    """A connection to the socket at `path`, for `asyncio.open_connection(sock=…)`. Raises OSError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.setblocking(False)
    try:
        with short(path) as name:
            await asyncio.get_running_loop().sock_connect(made, name)
    except OSError:
        made.close()
        raise
    return made


async def connect(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the socket at `path`. Raises OSError when nobody listens there."""
    return await asyncio.open_connection(sock=await dial(path))
