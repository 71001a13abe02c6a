"""The signs of an expression."""

import re
from typing import Any, NamedTuple

from ingot.standalone.goprint import INT64
from ingot.standalone.schema.cel.faults import CompileError, Issue
from ingot.standalone.schema.cel.types import BYTES, DOUBLE, INT, STRING, UINT, Type

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<text>(?:[bB]?[rR]?|[rR][bB])(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}))
  | (?P<raw>[bB]?[rR](?:"[^"\n\r]*"|'[^'\n\r]*'))
  | (?P<line>[bB]?(?:"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*'))
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SELF = "\\?\"'`"
_UINT64 = range(2**64)
_LONGEST_INT = 1000


class Token(NamedTuple):
    """`kind` is the sign itself, "name", "literal", or "end". Literals have a value and a type."""

    kind: str
    text: str
    at: int
    value: Any = None
    type: Type | None = None


def tokens(source: str) -> list[Token]:
    """Raises CompileError."""
    found, at = [], 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise CompileError(source, [Issue(at, f"Syntax error: token recognition error at: '{source[at]}'")])
        if match.lastgroup != "space":
            found.append(_token(source, match))
        at = match.end()
    return [*found, Token("end", "<EOF>", len(source))]


def _token(source: str, match: re.Match[str]) -> Token:
    text, at = match[0], match.start()
    if match.lastgroup == "name":
        return Token("name", text, at)
    if match.lastgroup == "sign":
        return Token(text, text, at)
    if match.lastgroup == "float":
        return Token("literal", text, at, float(text), DOUBLE)
    if match.lastgroup == "int":
        return _integer(source, text, at)
    return _string(source, text, at)


def _integer(source: str, text: str, at: int) -> Token:
    unsigned = text[-1] in "uU"
    # Python reads no more than some thousand digits.
    value = int(text.rstrip("uU"), 0 if text.startswith("0x") else 10) if len(text) <= _LONGEST_INT else -1
    # One more than the largest: a sign before it makes it the smallest.
    if value not in _UINT64 or (not unsigned and value > INT64[-1] + 1):
        raise CompileError(source, [Issue(at, f"invalid {'uint' if unsigned else 'int'} literal")])
    return Token("literal", text, at, value, UINT if unsigned else INT)


def _string(source: str, text: str, at: int) -> Token:
    prefix = re.match("[bBrR]*", text)
    marks = prefix[0].lower() if prefix else ""
    body = text[len(marks) :]
    quotes = 3 if body[:3] in ('"""', "'''") else 1
    body = body[quotes:-quotes]
    if "b" in marks:
        return Token("literal", text, at, body.encode() if "r" in marks else _bytes(source, body, at), BYTES)
    return Token("literal", text, at, body if "r" in marks else _unescaped(source, body, at), STRING)


def _unescaped(source: str, body: str, at: int) -> str:
    def replaced(match: re.Match[str]) -> str:
        number = match[1] or match[2] or match[3]
        if number or match[4]:
            return _character(source, int(number, 16) if number else int(match[4], 8), at)
        return _plain_escape(source, match[5], at)

    return _ESCAPE.sub(replaced, body)


def _bytes(source: str, body: str, at: int) -> bytes:
    """In bytes a numbered escape is one byte, and everything else its UTF-8."""
    made, position = bytearray(), 0
    for match in _ESCAPE.finditer(body):
        made += body[position : match.start()].encode()
        position = match.end()
        if match[1] or match[4]:
            made += bytes([int(match[1], 16) if match[1] else int(match[4], 8)])
        elif match[2] or match[3]:
            made += _character(source, int(match[2] or match[3], 16), at).encode()
        else:
            made += _plain_escape(source, match[5], at).encode()
    return bytes(made) + body[position:].encode()


def _character(source: str, code: int, at: int) -> str:
    if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise CompileError(source, [Issue(at, "invalid unicode code point")])
    return chr(code)


def _plain_escape(source: str, char: str, at: int) -> str:
    if char in _SIMPLE:
        return _SIMPLE[char]
    if char in _SELF:
        return char
    raise CompileError(source, [Issue(at, f"Syntax error: token recognition error at: '\\{char}'")])
