"""What was done for clients, counted without a lock: each connection has its own tally, which are summed when asked."""

from collections.abc import Iterable
from typing import Any, Self

KINDS = ("read", "write", "disconnect", "flush", "trim", "cache", "zero", "status")
# Latencies are counted by their binary logarithm in microseconds: up to 1, 2, 4 … µs and about 8 s.
BUCKETS = 24


class Tally:
    """Requests by kind, bytes in both directions, errors, and how long replies took."""

    __slots__ = ("buckets", "errors", "nanoseconds", "read", "requests", "written")

    def __init__(self) -> None:
        self.requests = [0] * len(KINDS)
        self.read = 0
        self.written = 0
        self.errors = 0
        self.nanoseconds = 0
        self.buckets = [0] * BUCKETS

    def answered(self, count: int, nanoseconds: int) -> None:
        """So many requests came together and were answered after that time."""
        self.nanoseconds += count * nanoseconds
        self.buckets[min((nanoseconds // 1000).bit_length(), BUCKETS - 1)] += count

    def add(self, other: "Tally") -> None:
        self.requests = [mine + theirs for mine, theirs in zip(self.requests, other.requests, strict=True)]
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        self.read += other.read
        self.written += other.written
        self.errors += other.errors
        self.nanoseconds += other.nanoseconds

    @classmethod
    def sum(cls, tallies: Iterable["Tally"]) -> Self:
        total = cls()
        for tally in tallies:
            total.add(tally)
        return total

    def record(self) -> dict[str, Any]:
        """For `from_record` of another process."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        made = cls()
        for name in cls.__slots__:
            setattr(made, name, record[name])
        return made
