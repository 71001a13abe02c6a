"""Property names as rules write them: CEL's identifiers allow neither dashes nor its own words."""

import re
from functools import lru_cache

_WORDS = (
    "true false null in as break const continue else for function if import let loop package namespace return",
    "var void while",
)
RESERVED = frozenset(" ".join(_WORDS).split(" "))
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_ESCAPED = re.compile(r"__([^_]+)__")


@lru_cache(4096)
def escape(name: str) -> str | None:
    """The identifier for a property, or None for one that rules cannot name."""
    if not re.fullmatch(r"[A-Za-z_./-][A-Za-z0-9_./-]*", name):
        return None
    if name in RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: _ESCAPES[match[0]], name)


@lru_cache(4096)
def unescape(identifier: str) -> str | None:
    """The property that an identifier stands for, or None."""
    whole = re.fullmatch(r"__([a-z]+)__", identifier)
    if whole and whole[1] in RESERVED:
        return whole[1]
    wrong = [match for match in _ESCAPED.findall(identifier) if match not in _UNESCAPES]
    return None if wrong else _ESCAPED.sub(lambda match: _UNESCAPES[match[1]], identifier)
