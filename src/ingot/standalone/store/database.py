"""The SQLite file under the store: opened with care, written in whole batches."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ingot.standalone.store.faults import DatabaseDamagedError, DatabaseError, fault_of

T = TypeVar("T")

FORMAT = 1
# Only a stray program can hold the file; whoever runs the server is told rather than kept waiting.
PATIENCE_SECONDS = 2.0
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
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._prepare()
        except sqlite3.Error as error:
            raise fault_of(error, path) from error
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
            why = f"the database {self.path} has format {found}, and this program knows format {FORMAT}"
            raise DatabaseError(self.path, why, "use the release of Ingot that wrote it, or a newer one")

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
            raise fault_of(error, self.path) from error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _marks(rows: int, width: int) -> str:
    one = "(" + ",".join("?" * width) + ")"
    return ",".join([one] * rows)


def _parts(items: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(items), ROWS_PER_STATEMENT):
        yield items[start : start + ROWS_PER_STATEMENT]
