"""What a registry asks for when it does not know us (WWW-Authenticate)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LONGEST = 8192
# A scheme is a word that no `=` follows; the rest are its parameters.
_PART = re.compile(r'[\s,]*([A-Za-z0-9!#$%&\'*+.^_`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?')


@dataclass(frozen=True, slots=True)
class Challenge:
    """`scheme` in lower case, bearer or basic."""

    scheme: str
    parameters: dict[str, str]


def parse_challenges(headers: Iterable[str]) -> list[Challenge]:
    """Those that can be understood; what cannot is left out."""
    found: list[Challenge] = []
    for header in headers:
        place = 0
        while match := _PART.match(header[:_LONGEST], place):
            place = match.end()
            name, quoted, plain = match.groups()
            if quoted is None and plain is None:
                found.append(Challenge(name.lower(), {}))
            elif found:
                value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain
                found[-1].parameters.setdefault(name.lower(), value)
    return found
