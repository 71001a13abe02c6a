"""What was done for the clients of each export, over connections and processes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ingot.serve.tally import Tally

# How many exports are in one message between processes.
_PAGE = 32


@dataclass(slots=True)
class Total:
    """`served`: connections that there ever were; `present`: those that are. `fetched`: bytes that came over a network
    for the export. `preparing`: bytes done and in all, where it is being opened and that takes long."""

    tally: Tally = field(default_factory=Tally)
    present: int = 0
    served: int = 0
    fetched: int = 0
    preparing: tuple[int, int] = (0, 0)


class Totals:
    """Totals by the name of the export. Not safe for several threads by itself."""

    def __init__(self) -> None:
        self.exports: dict[str, Total] = {}

    def add(self, name: str, tally: Tally) -> None:
        """Counts a connection with what was done for it."""
        total = self.exports.setdefault(name, Total())
        total.tally.add(tally)
        total.served += 1

    def present(self, name: str) -> None:
        """A connection that was counted is still there."""
        self.exports[name].present += 1

    def fetched(self, name: str, count: int) -> None:
        """So many bytes came over a network for an export."""
        if count:
            self.exports.setdefault(name, Total()).fetched += count

    def preparing(self, name: str, progress: tuple[int, int]) -> None:
        """An export is being opened."""
        self.exports.setdefault(name, Total()).preparing = progress

    def merge(self, other: "Totals") -> None:
        for name, theirs in other.exports.items():
            mine = self.exports.setdefault(name, Total())
            mine.tally.add(theirs.tally)
            mine.present += theirs.present
            mine.served += theirs.served
            mine.fetched += theirs.fetched
            mine.preparing = max(mine.preparing, theirs.preparing)

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Forgets the others."""
        self.exports = {name: total for name, total in self.exports.items() if wanted(name)}

    def copy(self) -> "Totals":
        made = Totals()
        made.merge(self)
        return made

    def pages(self) -> Iterator[dict[str, Any]]:
        """All of it in messages of a bounded length, for `read` of another process."""
        names = sorted(self.exports)
        for start in range(0, len(names), _PAGE):
            yield {name: _record(self.exports[name]) for name in names[start : start + _PAGE]}

    def read(self, page: dict[str, Any]) -> None:
        for name, record in page.items():
            tally = Tally.from_record(record["tally"])
            done, whole = record["preparing"]
            self.exports[name] = Total(tally, record["present"], record["served"], record["fetched"], (done, whole))


def _record(total: Total) -> dict[str, Any]:
    record = {"present": total.present, "served": total.served, "fetched": total.fetched}
    return {"tally": total.tally.record(), "preparing": total.preparing, **record}
