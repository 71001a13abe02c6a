"""Go's regular expressions (RE2) rewritten for another engine.

A CRD's pattern is written for Go. `translate` reads it by Go's rules, with Go's error messages, and writes what
means the same to jsonschema-rs (Rust, linear time).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ingot.standalone.schema import charclass
from ingot.standalone.schema.charclass import Ranges
from ingot.standalone.schema.goescape import (
    PERL_CLASS,
    PatternError,
    Reader,
    perl_class,
)

__all__ = ["PatternError", "translate"]

# Of one repetition, and of repetitions within repetitions taken together.
_MAX_REPEAT = 1000
_MAX_DEPTH = 1000
_ZERO_WIDTH = {"A": "^", "z": "$", "b": r"\b", "B": r"\B"}
_FLAGS = {"i": "fold", "m": "multiline", "s": "dot_all", "U": "ungreedy"}
# No number begins with a zero; more than four digits are too many whatever they are.
_REPEAT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*|))?\}")
_NAMED_GROUP = re.compile(r"\(\?P?<([^>]*)>")


def translate(source: str) -> str | None:
    """The expression for jsonschema-rs, None when that has no word for a part of it.

    Raises PatternError when Go would refuse the expression.
    """
    return _Translation(source).run()


@dataclass(slots=True, frozen=True)
class _Mode:
    fold: bool = False
    multiline: bool = False
    dot_all: bool = False
    ungreedy: bool = False


@dataclass(slots=True)
class _Translation(Reader):
    out: list[str] = field(default_factory=list)
    mode: _Mode = field(default_factory=_Mode)
    # For each open group the mode to return to, and how often the most repeated part before it is repeated.
    groups: list[tuple[_Mode, int]] = field(default_factory=list)
    # How often the most repeated part is repeated: of the group that is open, and of the operand just read.
    most: int = 1
    times: int = 1
    repeatable: bool = False
    # Where the repetition operator just read began, to show a second one with it.
    repeated_at: int | None = None
    sayable: bool = True

    def run(self) -> str | None:
        while self.at < len(self.source):
            step = _STEPS.get(self.source[self.at])
            if step:
                step(self)
            else:
                self.at += 1
                self.operand(self.literal(ord(self.source[self.at - 1])))
        if self.groups:
            raise PatternError("missing closing )", self.source)
        return "".join(self.out) if self.sayable else None

    def operand(self, text: str, times: int = 1) -> None:
        self.out.append(text)
        self.repeatable, self.repeated_at, self.times = True, None, times

    def punctuation(self, text: str) -> None:
        self.out.append(text)
        self.repeatable, self.repeated_at = False, None

    def literal(self, code: int) -> str:
        if self.mode.fold and chr(code).swapcase() != chr(code):
            return charclass.bracketed(charclass.folded([(code, code)]), [], False)
        return charclass.literal(code)

    def open_group(self) -> None:
        self.groups.append((self.mode, self.most))
        if len(self.groups) >= _MAX_DEPTH:
            raise PatternError("expression nests too deeply", self.source)
        named = _NAMED_GROUP.match(self.source, self.at)
        if named and not re.fullmatch(r"\w+", named[1], re.ASCII):
            raise PatternError("invalid named capture", named[0])
        if named:
            self.at = named.end()
        elif self.source.startswith("(?", self.at):
            self.open_flags()
            return
        else:
            self.at += 1
        self.most = 1
        self.punctuation("(?:")

    def open_flags(self) -> None:
        """`(?i:` opens a group with flags; `(?i)` sets them for the rest of the group around it."""
        match = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])").match(self.source, self.at)
        if match is None or match[0] == "(?)":
            self.refuse_flags()
            return
        for name in match[1]:
            self.mode = replace(self.mode, **{_FLAGS[name]: True})
        for name in match[2] or "":
            self.mode = replace(self.mode, **{_FLAGS[name]: False})
        self.at = match.end()
        if match[3] == ")":
            # A repetition that follows is one of what stands before the flags.
            self.groups.pop()
            self.sayable = self.sayable and self.repeated_at is None
            self.repeated_at = None
        else:
            self.most = 1
            self.punctuation("(?:")

    def refuse_flags(self) -> None:
        known = re.compile(r"\(\?[imsU]*-?[imsU]*").match(self.source, self.at)
        end = known.end() if known else len(self.source)
        raise PatternError("invalid or unsupported Perl syntax", self.source[self.at : end + 1])

    def close_group(self) -> None:
        if not self.groups:
            raise PatternError("unexpected )", self.source)
        times = self.most
        self.mode, before = self.groups.pop()
        self.most = max(before, times)
        self.at += 1
        self.operand(")", times)

    def bar(self) -> None:
        self.at += 1
        self.punctuation("|")

    def anchor(self) -> None:
        sign = self.source[self.at]
        self.at += 1
        self.operand(f"(?m:{sign})" if self.mode.multiline else sign)

    def dot(self) -> None:
        self.at += 1
        self.operand(r"[\s\S]" if self.mode.dot_all else r"[^\n]")

    def star(self) -> None:
        self.at += 1
        self.repeat(self.at - 1, self.source[self.at - 1])

    def brace(self) -> None:
        match = _REPEAT.match(self.source, self.at)
        if match is None:
            self.at += 1
            self.operand(r"\{")
            return
        low = int(match[1][:5])
        high = int(match[3][:5]) if match[3] else _MAX_REPEAT if match[2] else low
        begin, self.at = self.at, match.end()
        if low > high or high > _MAX_REPEAT:
            raise PatternError("invalid repeat count", match[0])
        self.repeat(begin, match[0], high if match[3] or not match[2] else low)

    def repeat(self, begin: int, operator: str, times: int = 1) -> None:
        lazy = self.source.startswith("?", self.at)
        self.at += lazy
        if self.repeated_at is not None:
            raise PatternError("invalid nested repetition operator", self.source[self.repeated_at : self.at])
        if not self.repeatable:
            raise PatternError("missing argument to repetition operator", self.source[begin : self.at])
        self.times *= max(times, 1)
        if self.times > _MAX_REPEAT:
            raise PatternError("invalid repeat count", self.source[begin : self.at])
        self.most = max(self.most, self.times)
        self.out.append(operator + ("?" if lazy != self.mode.ungreedy else ""))
        self.repeated_at = begin

    def escape(self) -> None:
        following = self.source[self.at + 1 : self.at + 2]
        perl = PERL_CLASS.match(self.source, self.at)
        if perl:
            self.at += 2
            self.operand(charclass.bracketed(perl_class(perl[1]), [], False))
        elif following in ("p", "P"):
            self.operand(f"[{self.unicode_class()}]")
        elif following == "Q":
            self.quoted()
        elif following and following in _ZERO_WIDTH:
            self.at += 2
            # Rust's words are Unicode's, Go's are ASCII's.
            self.sayable = self.sayable and following not in "bB"
            self.operand(_ZERO_WIDTH[following])
        else:
            self.operand(self.literal(self.escaped_code()))

    def quoted(self) -> None:
        closing = self.source.find(r"\E", self.at)
        end = closing if closing >= 0 else len(self.source)
        for char in self.source[self.at + 2 : end]:
            self.operand(self.literal(ord(char)))
        self.at = min(end + 2, len(self.source))

    def bracket(self) -> None:
        begin = self.at
        negative = self.source.startswith("[^", begin)
        self.at += 2 if negative else 1
        first, ranges, named = self.at, Ranges(), list[str]()
        while self.at == first or not self.source.startswith("]", self.at):
            self.class_item(begin, ranges, named)
        self.at += 1
        ranges = charclass.folded(ranges) if self.mode.fold else ranges
        self.operand(charclass.bracketed(ranges, named, negative))


_STEPS: dict[str, Callable[[_Translation], None]] = {
    "(": _Translation.open_group,
    ")": _Translation.close_group,
    "|": _Translation.bar,
    "^": _Translation.anchor,
    "$": _Translation.anchor,
    ".": _Translation.dot,
    "*": _Translation.star,
    "+": _Translation.star,
    "?": _Translation.star,
    "{": _Translation.brace,
    "[": _Translation.bracket,
    "\\": _Translation.escape,
}
