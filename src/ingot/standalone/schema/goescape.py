"""The small parts of Go's regular expressions: escapes, classes and their ranges."""

import re
from dataclasses import dataclass

from ingot.standalone.schema import charclass
from ingot.standalone.schema.charclass import PERL, POSIX, Ranges, complement

PERL_CLASS = re.compile(r"\\([dswDSW])")
_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_UNICODE_CLASS = re.compile(r"\\[pP](?:\{(\^?)(\w+)\}|(\w))")
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w*):\]")
_HEX = re.compile(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2})")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")


class PatternError(ValueError):
    """Not an expression of Go's; the text is Go's."""

    def __init__(self, fault: str, expression: str) -> None:
        super().__init__(f"error parsing regexp: {fault}: `{expression}`")


@dataclass(slots=True)
class Reader:
    """A place in an expression. Every method reads what begins there, and moves beyond it."""

    source: str
    at: int = 0

    def unicode_class(self) -> str:
        match = _UNICODE_CLASS.match(self.source, self.at)
        name = (match[2] or match[3]) if match else ""
        if not match or not charclass.is_unicode_class(name):
            raise PatternError("invalid character class range", match[0] if match else self.source[self.at :])
        self.at = match.end()
        negative = (match[0][1] == "P") != (match[1] == "^")
        return f"\\{'P' if negative else 'p'}{{{name}}}"

    def escaped_code(self) -> int:
        begin = self.at
        char = self.source[begin + 1 : begin + 2]
        if not char:
            raise PatternError("trailing backslash at end of expression", "")
        self.at += 2
        numbered = _HEX.match(self.source, self.at) if char == "x" else _OCTAL.match(self.source, begin + 1)
        if numbered:
            code = int(numbered[1] or numbered[2], 16) if char == "x" else int(numbered[0], 8)
            if code <= charclass.LAST_CODE:
                self.at = numbered.end()
                return code
        elif char in _CONTROL:
            return _CONTROL[char]
        elif char.isascii() and not char.isalnum():
            return ord(char)
        raise PatternError("invalid escape sequence", self.source[begin : self.at + (char == "x")])

    def class_item(self, begin: int, ranges: Ranges, named: list[str]) -> None:
        posix = _POSIX_CLASS.match(self.source, self.at)
        perl = PERL_CLASS.match(self.source, self.at)
        if posix:
            if posix[2] not in POSIX:
                raise PatternError("invalid character class range", posix[0])
            ranges += complement(POSIX[posix[2]]) if posix[1] else POSIX[posix[2]]
            self.at = posix.end()
        elif perl:
            ranges += perl_class(perl[1])
            self.at = perl.end()
        elif self.source.startswith(("\\p", "\\P"), self.at):
            named.append(self.unicode_class())
        else:
            ranges.append(self.class_range(begin))

    def class_range(self, class_begin: int) -> tuple[int, int]:
        begin = self.at
        low = self.class_char(class_begin)
        rest = self.source[self.at : self.at + 2]
        if len(rest) < 2 or rest[0] != "-" or rest[1] == "]":
            return low, low
        self.at += 1
        high = self.class_char(class_begin)
        if high < low:
            raise PatternError("invalid character class range", self.source[begin : self.at])
        return low, high

    def class_char(self, class_begin: int) -> int:
        if self.at >= len(self.source):
            raise PatternError("missing closing ]", self.source[class_begin:])
        if self.source[self.at] == "\\":
            return self.escaped_code()
        self.at += 1
        return ord(self.source[self.at - 1])


def perl_class(letter: str) -> Ranges:
    """The characters of `\\d`, `\\s` and `\\w`, or of their opposites."""
    return PERL[letter] if letter in PERL else complement(PERL[letter.lower()])
