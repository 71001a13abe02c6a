"""Figures side by side, as a table for people and for docs/benchmarks.md."""

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


def _number(value: float, unit: str) -> str:
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} {unit}".replace(" /s", "/s")


def table(rows: list[Row]) -> str:
    head = ["", "ingot", "kube-apiserver + etcd", "ratio", "promised", "kept"]
    lines = [head, ["---"] * len(head), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
