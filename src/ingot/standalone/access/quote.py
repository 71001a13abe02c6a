"""Strings as Go's %q prints them: kube-apiserver's messages are full of them, and ours must read the same."""

from collections.abc import Iterable

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """`"a\\"b"` for a"b."""
    if text.isalnum() and text.isascii():
        return f'"{text}"'
    return '"' + "".join(_character(character) for character in text) + '"'


def quote_all(texts: Iterable[str]) -> str:
    """`["a" "b"]`: a slice of strings."""
    return "[" + " ".join(quote(text) for text in texts) + "]"


def _character(character: str) -> str:
    escape = _ESCAPES.get(character)
    if escape is not None:
        return escape
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
