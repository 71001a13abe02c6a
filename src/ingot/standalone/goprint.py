"""Values as Go prints them: the messages of kube-apiserver are made with Go's verbs, and ours must read the same."""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

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

INT64 = range(-(2**63), 2**63)


class Shown(str):
    """A value as Go prints it, where that cannot be told from its JSON: a typed list, a structure."""

    __slots__ = ()


def is_int64(value: Any) -> bool:
    """Whether a JSON number is an integer to Go; one beyond 64 bits is read as a float there."""
    return isinstance(value, int) and not isinstance(value, bool) and value in INT64


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def quote(text: str) -> str:
    """`%q`: double quotes, with Go's escapes for what is not printable."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_quoted(char) for char in text) + '"'


def quote_all(texts: Iterable[str]) -> str:
    """`%q` of a slice of strings: `["a" "b"]`."""
    return "[" + " ".join(map(quote, texts)) + "]"


def strings(texts: Iterable[str]) -> Shown:
    """`%#v` of a slice of strings."""
    listed = ", ".join(map(quote, texts))
    return Shown(f"[]string{{{listed}}}" if listed else "[]string(nil)")


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """`%v` of a number: integers in full, floats in their shortest form, with an exponent outside 1e-4 … 1e6."""
    if is_int64(value):
        return str(value)
    value = float(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    if value and not -4 <= power < 6:
        mantissa = "".join(map(str, digits))
        point = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
        return f"{'-' if sign else ''}{mantissa[0]}{point}e{power:+03d}"
    return repr(value).removesuffix(".0")


def syntax(value: Any) -> str:
    """`%#v`: a JSON value as Go source."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{quote(key)}:{syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(syntax(item) for item in value)}}}"
    return number(value)


def bad_value(value: Any) -> str:
    """A rejected value as field errors show it."""
    if isinstance(value, Shown):
        return value
    if value is None:
        return '"null"'
    if isinstance(value, str):
        return quote(value)
    return syntax(value)


def plain(value: Any) -> str:
    """`%v`: a JSON value without quotes."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{plain(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(plain(item) for item in value)}]"
    return value if isinstance(value, str) else number(value)


def go_type(value: Any) -> str:
    """`%T`: the Go type that a JSON value is read into."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, str):
        return "string"
    return "int64" if is_int64(value) else "float64"


def json_type(value: Any) -> str:
    """What kind of JSON a value is, as Go names it when it cannot decode it."""
    if value is None:
        return "null"
    names = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    return names[type(value)]
