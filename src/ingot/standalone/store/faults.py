"""What can be wrong with the database file, told apart: each wants another remedy."""

import os
import sqlite3
from pathlib import Path


class DatabaseError(Exception):
    """The database cannot be used, or not now. The text says what to do; nothing was changed."""

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        super().__init__(f"{why}; {remedy}")
        self.path = path
        self.why = why


class DatabaseDamagedError(DatabaseError):
    """The file is not a sound database of ours. It is left as it was found."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            path,
            f"the database {path} is damaged ({why}) and was left as it is",
            "restore the file from a backup, or move it away together with its -wal and -shm files to start empty; "
            "`sqlite3 FILE .recover` can save what is readable",
        )


class DatabaseFullError(DatabaseError):
    """The disk or the file's limit is full; the batch was rolled back and can be tried again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, f"no space left to write {path}", "free some and try again")


def fault_of(error: sqlite3.Error, path: Path) -> DatabaseError:
    """What SQLite's error means for the one who runs the server."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(path)):
        return DatabaseFullError(path)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return DatabaseError(path, f"the database {path} is in use ({error})", "end the other program that has it open")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH):
        return DatabaseError(path, f"the database {path} cannot be written ({error})", "mend its owner and mode")
    if code == sqlite3.SQLITE_IOERR:
        return DatabaseError(path, f"the disk failed under the database {path} ({error})", "look at the machine's log")
    return DatabaseDamagedError(path, str(error))


def _no_room(path: Path) -> bool:
    # A full disk shows as an I/O error where the WAL's index could not grow.
    free = os.statvfs(path.parent)
    return free.f_bavail == 0 or free.f_favail == 0
