"""Why a text is not JSON, in the words of Go's parser: clients know those, and ours says nothing else.

It is asked only about texts that another parser has refused, so that it may be plain rather than quick.
"""

import re

from ingot.standalone.goprint import quote

# Go's own limit. Ours is lower, see `body.MAX_DEPTH`.
MAX_DEPTH = 10_000
END = "unexpected end of JSON input"

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING_PREFIX = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_AFTER = {b"{": "after object key:value pair", b"[": "after array element", b"": "after top-level value"}


class _Fault(Exception):
    """The text ends to be JSON here; the message is Go's."""


def syntax_error(raw: bytes) -> str:
    """Go's message for the first fault in the text; "" for a text that is JSON to Go."""
    scanner = _Scanner(raw)
    try:
        scanner.document()
    except _Fault as fault:
        return str(fault)
    return ""


class _Scanner:
    """Walks a text token by token; `_open` is the brackets that are open."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        self._open: list[bytes] = []

    def document(self) -> None:
        self._value()
        while self._open:
            self._next_in(self._open[-1])
        if self._peek():
            raise self._wrong(_AFTER[b""])

    def _peek(self) -> bytes:
        """The next character that is no space; b"" at the end."""
        found = _SPACE.match(self._raw, self._at)
        assert found is not None
        self._at = found.end()
        return self._raw[self._at : self._at + 1]

    def _wrong(self, where: str) -> _Fault:
        """The fault of the character here, or of the end, which Go takes for a space."""
        if self._at >= len(self._raw):
            return _Fault(END)
        return _Fault(f"invalid character {_shown(self._raw[self._at])} {where}")

    def _next_in(self, bracket: bytes) -> None:
        """What follows a value within an object or a list, up to the end of the next value."""
        closing = b"}" if bracket == b"{" else b"]"
        character = self._peek()
        if character == closing:
            self._at += 1
            self._open.pop()
        elif character == b",":
            self._at += 1
            if bracket == b"{":
                self._key()
            self._value()
        else:
            raise self._wrong(_AFTER[bracket])

    def _key(self) -> None:
        if self._peek() != b'"':
            raise self._wrong("looking for beginning of object key string")
        self._string()
        if self._peek() != b":":
            raise self._wrong("after object key")
        self._at += 1

    def _value(self) -> None:
        """One value; of an object or a list only the beginning, with the first value in it."""
        character = self._peek()
        while character in (b"{", b"["):
            self._push(character)
            following = self._peek()
            if following == (b"}" if character == b"{" else b"]"):
                self._at += 1
                self._open.pop()
                return
            if character == b"{":
                self._key()
            character = self._peek()
        self._scalar(character)

    def _push(self, bracket: bytes) -> None:
        self._open.append(bracket)
        if len(self._open) > MAX_DEPTH:
            raise self._wrong("exceeded max depth")
        self._at += 1

    def _scalar(self, character: bytes) -> None:
        if character == b'"':
            self._string()
        elif character in _LITERALS:
            self._literal(_LITERALS[character])
        elif character == b"-" or character.isdigit():
            self._number()
        else:
            raise self._wrong("looking for beginning of value")

    def _string(self) -> None:
        found = _STRING_PREFIX.match(self._raw, self._at)
        assert found is not None
        self._at = found.end()
        if self._raw[self._at : self._at + 1] == b'"':
            self._at += 1
            return
        if self._raw[self._at : self._at + 1] != b"\\":
            raise self._wrong("in string literal")
        escape = self._raw[self._at + 1 : self._at + 6]
        if escape[:1] != b"u":
            raise self._at_offset(1, "in string escape code")
        digits = re.match(rb"u[0-9a-fA-F]*", escape)
        assert digits is not None
        raise self._at_offset(1 + digits.end(), "in \\u hexadecimal character escape")

    def _at_offset(self, offset: int, where: str) -> _Fault:
        self._at += offset
        if self._at >= len(self._raw):
            return _Fault(f"invalid character ' ' {where}")
        return self._wrong(where)

    def _literal(self, word: bytes) -> None:
        for offset, expected in enumerate(word):
            if self._raw[self._at + offset : self._at + offset + 1] != bytes([expected]):
                where = f"in literal {word.decode()} (expecting {_shown(expected)})"
                raise self._at_offset(offset, where)
        self._at += len(word)

    def _number(self) -> None:
        found = _NUMBER.match(self._raw, self._at)
        if found is None:
            raise self._at_offset(1, "in numeric literal")
        self._at = found.end()
        following = self._raw[self._at : self._at + 1]
        whole = b"." not in found[0] and b"e" not in found[0].lower()
        if following == b"." and whole:
            raise self._at_offset(1, "after decimal point in numeric literal")
        if following in (b"e", b"E") and b"e" not in found[0].lower():
            sign = self._raw[self._at + 1 : self._at + 2] in (b"+", b"-")
            raise self._at_offset(2 if sign else 1, "in exponent of numeric literal")


def _shown(character: int) -> str:
    """A character between single quotes, as Go prints it."""
    if character == ord("'"):
        return "'\\''"
    return "'\"'" if character == ord('"') else f"'{quote(chr(character))[1:-1]}'"
