"""The declarations of CEL's functions, read from their signatures."""

import re
from dataclasses import dataclass

from ingot.standalone.schema.cel.signatures import KUBERNETES, OPERATORS, STANDARD, STRINGS
from ingot.standalone.schema.cel.types import PLAIN, Type

_COMPARABLE = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_NUMBERS = ("int", "uint", "double")
FORMAT_NAMES = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
]
_LINE = re.compile(r"(?:(.+)\.)?([^.()]+)\((.*)\) -> (.+)")
_WORD = re.compile(r"[^()\s]+|[()]")


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function. For a member the first argument is the value that it is called on."""

    member: bool
    args: tuple[Type, ...]
    result: Type


def _types(text: str) -> tuple[Type, ...]:
    words = _WORD.findall(text)[::-1]
    found: list[Type] = []
    while words:
        found.append(_type(words))
    return tuple(found)


def _type(words: list[str]) -> Type:
    name = words.pop()
    if len(name) == 1:
        return Type(f"$param{name}")
    if not words or words[-1] != "(":
        return PLAIN[name]
    words.pop()
    params = []
    while words[-1] != ")":
        params.append(_type(words))
    words.pop()
    return Type(name, tuple(params))


def _read(lines: str) -> dict[str, list[Overload]]:
    table: dict[str, list[Overload]] = {}
    for line in filter(None, lines.splitlines()):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(line)
        owner, name, args, result = match.groups()
        # `ip.isCanonical(string)` belongs to the name ip, `ip.family()` to a value of that type.
        static = owner in ("optional", "strings", "sets") or line.startswith(("ip.isCanonical", "format.named"))
        if owner and static:
            table.setdefault(f"{owner}.{name}", []).append(Overload(False, _types(args), _types(result)[0]))
        else:
            given = _types(f"{owner} {args}" if owner else args)
            table.setdefault(name, []).append(Overload(bool(owner), given, _types(result)[0]))
    return table


def _generated() -> str:
    lines = [
        f"{sign}({one} {other}) -> bool"
        for sign in ("_<_", "_<=_", "_>_", "_>=_")
        for one in _COMPARABLE
        for other in _COMPARABLE
        if one == other or (one in _NUMBERS and other in _NUMBERS)
    ]
    for kind in _COMPARABLE:
        lines += [f"list({kind}).isSorted() -> bool", f"list({kind}).min() -> {kind}", f"list({kind}).max() -> {kind}"]
    lines += [f"list({kind}).sum() -> {kind}" for kind in (*_NUMBERS, "duration")]
    return "\n".join(lines)


FUNCTIONS = _read("".join((OPERATORS, STANDARD, STRINGS, KUBERNETES, _generated())))
FUNCTIONS |= {f"format.{name}": [Overload(False, (), PLAIN["format"])] for name in FORMAT_NAMES}
