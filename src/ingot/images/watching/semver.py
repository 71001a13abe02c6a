"""Versions as semver.org has them: which of many tags is the newest."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import Self

# More digits than any version has: what comes out of a registry is compared as numbers.
_NUMBER = "0|[1-9][0-9]{0,17}"
_PART = f"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = re.compile(
    rf"v?(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})(?:-(?P<pre>{_PART}(?:\.{_PART})*))?"
)


@total_ordering
@dataclass(frozen=True, slots=True)
class Semver:
    """`pre` is empty for a release. Tags hold no `+`, so there is no build to leave out."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    @classmethod
    def parse(cls, tag: str) -> Self | None:
        """What a tag says, with or without a `v` before it; None for one that is no such version."""
        match = _SEMVER.fullmatch(tag)
        if match is None:
            return None
        numbers = int(match["major"]), int(match["minor"]), int(match["patch"])
        return cls(numbers, tuple((match["pre"] or "").split(".")) if match["pre"] else ())

    def __lt__(self, other: "Semver") -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[object, ...]:
        """A release is after its pre-releases; numbers are before words, and fewer parts before more."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return self.numbers, not self.pre, parts


def newest(tags: Iterable[str], *, prereleases: bool = False) -> str | None:
    """The tag of the newest version; None where none is one. Of two spellings of one version, `v1.0.0` and `1.0.0`,
    always the same."""
    known = ((Semver.parse(tag), tag) for tag in tags)
    found = ((version, tag) for version, tag in known if version and (prereleases or not version.pre))
    _, tag = max(found, default=(None, None))
    return tag
