"""Figures side by side, as a table for people and for docs/benchmarks.md."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One promise. `bar` is the ratio ours/theirs that was promised, None where none was."""

    what: str
    unit: str
    ours: float
    theirs: float
    bar: float | None
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def kept(self) -> bool | None:
        if self.bar is None:
            return None
        return self.ratio >= self.bar if self.more_is_better else self.ratio <= self.bar

    def cells(self) -> list[str]:
        sign = "≥" if self.more_is_better else "≤"
        promise = f"{sign} {self.bar:.2f}" if self.bar is not None else ""
        verdict = {None: "", True: "yes", False: "NO"}[self.kept]
        return [
            self.what,
            _number(self.ours, self.unit),
            _number(self.theirs, self.unit),
            f"{self.ratio:.2f}",
            promise,
            verdict,
        ]


@dataclass(frozen=True, slots=True)
class Margin:
    """A promise about a difference: at most `most` seconds more than the alternative."""

    what: str
    ours: float
    theirs: float
    most: float

    @property
    def kept(self) -> bool:
        return self.ours - self.theirs <= self.most

    def cells(self) -> list[str]:
        more = _number(self.ours - self.theirs, "s")
        figures = [_number(self.ours, "s"), _number(self.theirs, "s"), more, f"≤ {_number(self.most, 's')}"]
        return [self.what, *figures, "yes" if self.kept else "NO"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A promise about a figure by itself; `most` is None where none was made."""

    what: str
    unit: str
    ours: float
    most: float | None

    @property
    def kept(self) -> bool | None:
        return None if self.most is None else self.ours <= self.most

    def cells(self) -> list[str]:
        promise = "" if self.most is None else f"≤ {_number(self.most, self.unit)}"
        return [self.what, _number(self.ours, self.unit), promise, {None: "", True: "yes", False: "NO"}[self.kept]]


def _number(value: float, unit: str) -> str:
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} {unit}".replace(" /s", "/s")


def table(rows: Sequence[Row], theirs: str) -> str:
    return _lines(["", "ingot", theirs, "ratio", "promised", "kept"], rows)


def margins(rows: Sequence[Margin]) -> str:
    return _lines(["", "ingot", "virsh create", "more", "promised", "kept"], rows)


def bounds(rows: Sequence[Bound]) -> str:
    return _lines(["", "ingot", "promised", "kept"], rows)


def _lines(head: list[str], rows: Sequence[Row | Margin | Bound]) -> str:
    lines = [head, ["---"] * len(head), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
