"""Headers that people add to requests: what may be one, for those who admit it and for those who send it."""

import re
from typing import Final

# As RFC 9110 has it: a token, then anything that is not a control character; of that, what every server can read.
_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e]*)")
# Who changes these changes what a request means, and where it ends.
_OURS: Final = frozenset(
    ("range", "if-range", "host", "connection", "content-length", "transfer-encoding", "accept-encoding")
)


def header_fault(line: str) -> str:
    """Why a line cannot be sent as a header, "" where it can: without a word of its value, which may be a secret."""
    match = _LINE.fullmatch(line)
    if not match:
        return "a header is expected, as Name: value on one line, in ASCII"
    return f"{match[1]} is ours to send: leave it out" if match[1].lower() in _OURS else ""


def parse_header(line: str) -> tuple[str, str]:
    """Name and value of a line without a fault."""
    name, _, value = line.partition(":")
    return name, value.strip()
