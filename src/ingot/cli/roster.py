"""What a cluster has of one thing, a line each: what the commands `ls` print."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.output import show
from ingot.cli.table import lines, terminal_width

if TYPE_CHECKING:
    from ingot.cli.connection import Session


def show_roster(session: "Session", rows: Sequence[Object], output: str, things: str, cure: str) -> None:
    """Prints rows of cells by their titles. Where there are none, says so of `things`, and what makes one.

    The namespace is shown where all of them were asked for.
    """
    if output != "table":
        show(rows, output)
    elif not rows:
        where = "any namespace" if session.all_namespaces else f"namespace {session.namespace}"
        click.echo(f"No {things} in {where}; {cure} makes one.", err=True)
    else:
        titles = [title for title in rows[0] if title != "namespace" or session.all_namespaces]
        cells = [[_cell(row[title]) for title in titles] for row in rows]
        click.echo("\n".join(lines([title.upper() for title in titles], cells, terminal_width())))


def _cell(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
