"""The SQLite file under the store: opened with care, written in whole batches."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

FORMAT = 1
# SQLite takes at most 32,766 bound values in a statement; a row of ours has six.
ROWS_PER_STATEMENT = 1000

SCHEMA = """
CREATE TABLE IF NOT EXISTS object(
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fact(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""

Key = tuple[str, str, str]


class DatabaseDamagedError(Exception):
    """The file is not a sound database of ours. `path` is left as it was found."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the database {path} is damaged ({why}); nothing was changed. Restore the file from a backup, or move "
            "it away together with its -wal and -shm files to start empty; `sqlite3 FILE .recover` can save what is "
            "readable"
        )
        self.path = path
        self.why = why


class DatabaseFullError(Exception):
    """The disk or the file's limit is full; the batch was rolled back and can be tried again."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object as it rests: `value` is None where the object is to go."""

    key: Key
    revision: int
    value: bytes | None


class Database:
    """One connection, used by one thread at a time; every `commit` is durable when it returns.

    One connection, because SQLite before 3.51.3 can corrupt a WAL that two connections checkpoint.
    synchronous=FULL, because a resourceVersion that was seen must never be given out again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._prepare()
        except sqlite3.DatabaseError as error:
            if _is_full(error):
                raise DatabaseFullError(f"no space left to open {path}: {error}") from error
            raise DatabaseDamagedError(path, str(error)) from error
        path.chmod(0o600)

    def _prepare(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("PRAGMA cache_size=-2048")
        verdict = run("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise DatabaseDamagedError(self.path, verdict)
        self._connection.executescript(SCHEMA)
        run("INSERT INTO fact VALUES ('format', ?) ON CONFLICT DO NOTHING", (FORMAT,))
        found = self.fact("format")
        if found != FORMAT:
            raise DatabaseDamagedError(self.path, f"format {found}, this program knows format {FORMAT}")

    def fact(self, name: str) -> int:
        row = self._connection.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def rows(self) -> Iterator[Row]:
        cursor = self._connection.execute("SELECT resource, namespace, name, revision, value FROM object")
        for resource, namespace, name, revision, value in cursor:
            yield Row((resource, namespace, name), revision, value)

    def commit(self, rows: Sequence[Row], revision: int) -> None:
        """Writes all rows and the new revision, or nothing. Of several rows with one key the last counts."""
        final = {row.key: row for row in rows}
        kept = [row for row in final.values() if row.value is not None]
        gone = [row.key for row in final.values() if row.value is None]
        run = self._connection.execute
        try:
            run("BEGIN IMMEDIATE")
            for part in _parts(kept):
                values = [value for row in part for value in (*row.key, row.revision, row.value)]
                run(f"REPLACE INTO object VALUES {_marks(len(part), 5)}", values)  # noqa: S608
            for keys in _parts(gone):
                values = [value for key in keys for value in key]
                places = _marks(len(keys), 3)
                run(f"DELETE FROM object WHERE (resource, namespace, name) IN (VALUES {places})", values)  # noqa: S608
            run("REPLACE INTO fact VALUES ('revision', ?)", (revision,))
            run("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            if _is_full(error):
                raise DatabaseFullError(f"no space left to write {self.path}: free some, then try again") from error
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _is_full(error: sqlite3.Error) -> bool:
    # A full disk shows as SQLITE_FULL, or as SQLITE_IOERR where the WAL's index could not grow.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _marks(rows: int, width: int) -> str:
    one = "(" + ",".join("?" * width) + ")"
    return ",".join([one] * rows)


def _parts(items: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(items), ROWS_PER_STATEMENT):
        yield items[start : start + ROWS_PER_STATEMENT]
