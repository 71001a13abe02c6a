"""Tables as text: columns side by side, cut to the terminal where there is one."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from ingot.api.object import Object

GAP = "   "
# No column is cut below this: what is left of it would say nothing.
NARROWEST = 12


@dataclass(slots=True)
class Row:
    """One object's cells, and its metadata, by which rows are sorted and named."""

    cells: list[str]
    metadata: Object


@dataclass(slots=True)
class Table:
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def prefix(self, column: str, values: Sequence[str]) -> None:
        """Put a column before all others."""
        self.columns.insert(0, column)
        for row, value in zip(self.rows, values, strict=True):
            row.cells.insert(0, value)

    def sort(self) -> None:
        self.rows.sort(key=lambda row: (row.metadata.get("namespace", ""), row.metadata.get("name", "")))


def from_wire(answer: Object, *, wide: bool) -> Table:
    """The server's Table; columns of a lower priority than 0 are for `wide` only.

    A server that makes no Tables of a kind sends the objects: they become names and ages.
    """
    if answer.get("kind") != "Table":
        return _from_objects(answer.get("items") or [answer])
    definitions = answer.get("columnDefinitions") or []
    shown = [index for index, column in enumerate(definitions) if wide or not column.get("priority")]
    table = Table([str(definitions[index]["name"]).upper() for index in shown])
    for row in answer.get("rows") or []:
        cells = row.get("cells") or []
        metadata = (row.get("object") or {}).get("metadata") or {}
        table.rows.append(Row([text(cells[index]) if index < len(cells) else "" for index in shown], metadata))
    return table


def _from_objects(objects: list[Object]) -> Table:
    from ingot.standalone.table import age

    rows = [Row([obj["metadata"]["name"], age.of(obj)], obj["metadata"]) for obj in objects]
    return Table(["NAME", "AGE"], rows)


def text(cell: object) -> str:
    """A cell on one line."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    first, newline, _ = str(cell).partition("\n")
    return f"{first}..." if newline else first


def widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(cell) for cell in cells) for cells in zip(columns, *rows, strict=True)]


def fit(wanted: list[int], available: int | None) -> list[int]:
    """Widths that fit: the widest column is cut until the line is short enough or it is as narrow as may be."""
    result = list(wanted)
    if available is None or not result:
        return result
    while sum(result) + len(GAP) * (len(result) - 1) > available:
        widest = max(range(len(result)), key=result.__getitem__)
        if result[widest] <= NARROWEST:
            break
        result[widest] -= 1
    return result


def line(cells: Sequence[str], room: Sequence[int]) -> str:
    """One row: cells cut or padded to their columns, the last one not padded."""
    cut = [cell if len(cell) <= width else cell[: width - 1] + "…" for cell, width in zip(cells, room, strict=True)]
    return GAP.join(cell.ljust(width) for cell, width in zip(cut, room, strict=True)).rstrip()


def lines(columns: Sequence[str], rows: Sequence[Sequence[str]], available: int | None = None) -> list[str]:
    """The header and the rows."""
    room = fit(widths(columns, rows), available)
    return [line(columns, room), *(line(row, room) for row in rows)]


def terminal_width() -> int | None:
    """Columns of the terminal on standard output; None when it goes elsewhere, where nothing may be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
