"""Character classes of Go's regular expressions, as ranges of code points."""

import re

Ranges = list[tuple[int, int]]

LAST_CODE = 0x10FFFF
DIGIT: Ranges = [(0x30, 0x39)]
SPACE: Ranges = [(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)]
WORD: Ranges = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
PERL = {"d": DIGIT, "s": SPACE, "w": WORD}
POSIX: dict[str, Ranges] = {
    "alnum": [(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)],
    "alpha": [(0x41, 0x5A), (0x61, 0x7A)],
    "ascii": [(0x00, 0x7F)],
    "blank": [(0x09, 0x09), (0x20, 0x20)],
    "cntrl": [(0x00, 0x1F), (0x7F, 0x7F)],
    "digit": DIGIT,
    "graph": [(0x21, 0x7E)],
    "lower": [(0x61, 0x7A)],
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": [(0x09, 0x0D), (0x20, 0x20)],
    "upper": [(0x41, 0x5A)],
    "word": WORD,
    "xdigit": [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
}
_SURROGATES = (0xD800, 0xDFFF)
_CATEGORY = re.compile(r"C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")
_SCRIPT = re.compile(r"[A-Z][a-z]+(_[A-Z][a-z]+)*")


def is_unicode_class(name: str) -> bool:
    """Whether `\\p{name}` can be a general category or a script."""
    return bool(_CATEGORY.fullmatch(name) or (len(name) > 2 and _SCRIPT.fullmatch(name)))


def merged(ranges: Ranges) -> Ranges:
    """The same set, sorted and without overlaps."""
    result: Ranges = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return result


def complement(ranges: Ranges) -> Ranges:
    """All that is not in the set, surrogates apart: no text has them."""
    result: Ranges = []
    start = 0
    for low, high in merged([*ranges, _SURROGATES]):
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    if start <= LAST_CODE:
        result.append((start, LAST_CODE))
    return result


def folded(ranges: Ranges) -> Ranges:
    """The set and its letters in the other case; Go folds all of Unicode, this folds ASCII and what has one twin."""
    result = list(ranges)
    for low, high in ranges:
        for first, last, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            if low <= last and high >= first:
                result.append((max(low, first) + shift, min(high, last) + shift))
        if low == high and len(chr(low).swapcase()) == 1:
            twin = ord(chr(low).swapcase())
            result.append((twin, twin))
    return merged(result)


def literal(code: int) -> str:
    """One character outside brackets, in the notation that Rust and Python share."""
    char = chr(code)
    if char in r"^$\.*+?()[]{}|/":
        return f"\\{char}"
    return char if char.isprintable() else _numbered(code)


def bracketed(ranges: Ranges, named: list[str], negative: bool) -> str:
    """A class in brackets: ranges and already written `\\p{…}` classes."""
    if not named:
        ranges = complement(ranges) if negative else merged(ranges)
        negative = False
    if not ranges and not named:
        return r"[^\s\S]"
    inner = "".join(_inside(low) if low == high else f"{_inside(low)}-{_inside(high)}" for low, high in ranges)
    return f"[{'^' if negative else ''}{inner}{''.join(named)}]"


def _inside(code: int) -> str:
    char = chr(code)
    if char in r"\]^[-&~":
        return f"\\{char}" if char in r"\]^[-" else _numbered(code)
    return char if char.isprintable() and char != " " else _numbered(code)


def _numbered(code: int) -> str:
    if code > 0xFFFF:
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
