"""Lengths of time on the command line."""

import click
import pytest

from ingot.cli.duration import Duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1m30s", 90), ("2h", 7200), ("500ms", 0.5), ("0", 0), ("1.5", 1.5), ("1.5m", 90)],
)
def test_units_are_added_up_and_a_bare_number_is_seconds(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1s", "30 s", "1d", "1s2", "five"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="such as 30s"):
        Duration().convert(text, None, None)
