"""What stands in a parameter's `from`: text with classes of characters in it, as in fedora-[a-z0-9]{16}."""

import re
import string
from collections.abc import Callable
from typing import Final

# How one of several characters is chosen.
Choose = Callable[[str], str]

MOST_CHARACTERS: Final = 255
_CLASS: Final = re.compile(r"\[([a-zA-Z0-9\-\\]+)\]\{([0-9]+)\}")
_ITEM: Final = re.compile(r"\\[wdaA]|[a-zA-Z0-9]-[a-zA-Z0-9]|[a-zA-Z0-9]")
_NAMED: Final = {
    r"\w": string.ascii_letters + string.digits + "_",
    r"\d": string.digits,
    r"\a": string.ascii_letters,
    r"\A": "~!@#$%^&*()-_+={}[]\\|<,>.?/\"';:`",
}


class ExpressionError(Exception):
    """An expression of which no value can be made, and why."""


def generate(expression: str, choose: Choose) -> str:
    """A value of that form: `[a-z0-9]{8}` is eight characters of the class, all else stands for itself.

    A class holds letters, digits, ranges of them and \\w (letters, digits and _), \\d (digits), \\a (letters) and \\A
    (punctuation). Raises ExpressionError for one that cannot be read.
    """

    def filled(found: re.Match[str]) -> str:
        alphabet = _alphabet(found[1])
        length = int(found[2][:4])
        if not 1 <= length <= MOST_CHARACTERS:
            raise ExpressionError(f"{found[0]} asks for {found[2][:20]} characters; 1 to {MOST_CHARACTERS} can be made")
        return "".join(choose(alphabet) for _ in range(length))

    return _CLASS.sub(filled, expression)


def _alphabet(text: str) -> str:
    """The characters of a class, each once."""
    found: dict[str, None] = {}
    rest = text
    while rest:
        item = _ITEM.match(rest)
        if item is None:
            raise ExpressionError(rf"[{text}] is no class of characters; such as a-z, 0-9, \w, \d, \a or \A are")
        for character in _characters(item[0], text):
            found[character] = None
        rest = rest[item.end() :]
    return "".join(found)


def _characters(item: str, text: str) -> str:
    if item in _NAMED:
        return _NAMED[item]
    if len(item) == 1:
        return item
    first, last = ord(item[0]), ord(item[2])
    wanted = [chr(code) for code in range(first, last + 1) if chr(code).isalnum()]
    if not wanted:
        raise ExpressionError(f"[{text}] has the range {item}, which runs backwards")
    return "".join(wanted)
