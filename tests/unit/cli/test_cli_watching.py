"""A table that grows while it is watched."""

import pytest

from ingot.cli.table import Row, Table
from ingot.cli.watching import Screen


def rows(*names: str) -> Table:
    return Table(["NAME", "AGE"], [Row([name, "1s"], {}) for name in names])


def test_the_header_is_printed_once_and_columns_only_widen(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(None)
    screen.show(Table(["NAME", "AGE"], []))
    assert capsys.readouterr().out == ""
    screen.show(rows("one"))
    screen.show(rows("a-much-longer-name"))
    screen.show(rows("two"), deleted=True)
    assert capsys.readouterr().out.splitlines() == [
        "NAME     AGE",
        "one      1s",
        "a-much-longer-name   1s",
        "two                  1s   (deleted)",
    ]


def test_a_terminal_is_never_wider_than_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(20)
    screen.show(rows("x" * 50))
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 20
