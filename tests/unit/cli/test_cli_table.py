"""Tables as text."""

import pytest

from ingot.api.object import Object
from ingot.cli.table import NARROWEST, Table, fit, from_wire, lines, text


def wire(*rows: tuple[str, list[object]]) -> Object:
    columns = [{"name": "Name", "priority": 0}, {"name": "Ready"}, {"name": "Node", "priority": 1}]
    held = [{"cells": cells, "object": {"metadata": {"name": name, "namespace": "n"}}} for name, cells in rows]
    return {"kind": "Table", "columnDefinitions": columns, "rows": held}


def test_columns_of_lower_priority_are_for_wide_only() -> None:
    answer = wire(("a", ["a", True, "node-1"]))
    assert from_wire(answer, wide=False).columns == ["NAME", "READY"]
    table = from_wire(answer, wide=True)
    assert table.columns == ["NAME", "READY", "NODE"]
    assert table.rows[0].cells == ["a", "true", "node-1"]


def test_a_row_with_too_few_cells_is_filled_up() -> None:
    assert from_wire(wire(("a", ["a"])), wide=True).rows[0].cells == ["a", "", ""]


def test_objects_without_a_table_become_names_and_ages() -> None:
    answer = {"kind": "FooList", "items": [{"metadata": {"name": "x"}}]}
    table = from_wire(answer, wide=False)
    assert table.columns == ["NAME", "AGE"]
    assert table.rows[0].cells[0] == "x"


def test_rows_are_sorted_by_namespace_and_name() -> None:
    table = from_wire(wire(("b", ["b", 1, ""]), ("a", ["a", 1, ""])), wide=False)
    table.sort()
    assert [row.cells[0] for row in table.rows] == ["a", "b"]


@pytest.mark.parametrize(
    ("cell", "shown"), [(None, ""), (True, "true"), (7, "7"), ("two\nlines", "two..."), ("plain", "plain")]
)
def test_a_cell_is_one_line(cell: object, shown: str) -> None:
    assert text(cell) == shown


def test_columns_are_aligned_and_nothing_is_cut_without_a_terminal() -> None:
    long = "x" * 300
    assert lines(["NAME", "AGE"], [["short", "1s"], [long, "2s"]]) == [
        "NAME" + " " * 299 + "AGE",
        "short" + " " * 298 + "1s",
        long + "   2s",
    ]


def test_the_widest_column_is_cut_to_the_terminal() -> None:
    shown = lines(["NAME", "MESSAGE", "AGE"], [["name-of-it", "m" * 50, "1s"]], 40)
    assert all(len(line) <= 40 for line in shown)
    assert "name-of-it" in shown[1]
    assert "m…" in shown[1]
    assert shown[1].endswith("1s")


def test_columns_are_never_cut_to_nothing() -> None:
    assert fit([40, 40], 5) == [NARROWEST, NARROWEST]
    assert fit([3, 4], 5) == [3, 4]
    assert fit([], 5) == []


def test_a_column_is_put_before_all_others() -> None:
    table = from_wire(wire(("a", ["a", 1, ""])), wide=False)
    table.prefix("NAMESPACE", ["n"])
    assert lines(table.columns, [row.cells for row in table.rows])[1] == "n" + " " * 11 + "a      1"


def test_an_empty_table_has_no_rows() -> None:
    assert from_wire({"kind": "Table", "columnDefinitions": [], "rows": None}, wide=False) == Table([], [])
