"""Volumes that are watched: a line each, rewritten on a terminal, else one for each step that is new."""

import shutil
import sys
from types import TracebackType
from typing import Self

import click

from ingot.api.object import Object
from ingot.cli.volume.state import line, phase_of, why

_UP, _CLEAR = "\033[{}A", "\r\033[K"


class Board:
    """Lines on standard error, by the names that volumes are shown under."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._lines: dict[str, str] = {}
        self._steps: dict[str, tuple[str, str]] = {}
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def show(self, name: str, volume: Object) -> None:
        step = (phase_of(volume), why(volume))
        self._lines[name] = line(volume)
        if self._live:
            self._draw()
        elif self._steps.get(name) != step:
            click.echo(f"{name}: {line(volume)}", err=True)
        self._steps[name] = step

    def drop(self, name: str) -> None:
        """The volume is of no interest any more."""
        if self._lines.pop(name, None) is not None and self._live:
            self._draw()

    def clear(self) -> None:
        """Make room for other output."""
        if self._drawn:
            click.echo(_UP.format(self._drawn) + "\033[J", nl=False, err=True)
        self._drawn = 0

    def _draw(self) -> None:
        size = shutil.get_terminal_size()
        shown = list(self._lines.items())[: max(1, size.lines - 1)]
        width = max((len(name) for name, _ in shown), default=0)
        rows = [f"{name.ljust(width)}  {text}"[: size.columns - 1] for name, text in shown]
        up = _UP.format(self._drawn) if self._drawn else ""
        click.echo(up + "\033[J" + "".join(f"{_CLEAR}{row}\n" for row in rows), nl=False, err=True)
        self._drawn = len(rows)
