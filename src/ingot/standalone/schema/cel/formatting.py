"""`'%s of %d'.format([…])`."""

import math
import re
from collections.abc import Callable
from typing import Any

from ingot.standalone.goprint import number, quote
from ingot.standalone.schema.cel.faults import CelError
from ingot.standalone.schema.cel.values import kind_of
from ingot.standalone.schema.cel.views import find, keys

_CLAUSE = re.compile(r"%(?:\.(\d+))?(.)?", re.DOTALL)
_PRECISION = 6


def format_text(text: str, args: Any) -> str:
    """Raises CelError for a clause that does not exist, has no argument or has one of a wrong type."""
    given = iter(args)

    def filled(match: re.Match[str]) -> str:
        verb = match[2]
        if verb == "%" and match[1] is None:
            return "%"
        if verb is None:
            raise CelError("unexpected end of string")
        clause = _CLAUSES.get(verb)
        if clause is None or (match[1] is not None and verb not in "fe"):
            raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
        try:
            argument = next(given)
        except StopIteration:
            raise CelError(f"index {sum(1 for _ in args)} out of range") from None
        return clause(argument, int(match[1]) if match[1] else _PRECISION)

    return _CLAUSE.sub(filled, text)


def _wrong(verb: str, value: Any, wanted: str) -> CelError:
    return CelError(f"error during formatting: {verb} clause can only be used on {wanted}, was given {kind_of(value)}")


def shown(value: Any, _precision: int = 0) -> str:
    match kind_of(value):
        case "null_type":
            return "null"
        case "bool":
            return "true" if value else "false"
        case "string" | "timestamp" | "duration":
            return str(value)
        case "bytes":
            return str(value.decode(errors="replace"))
        case "int" | "uint":
            return str(int(value))
        case "double":
            return number(value)
        case "list":
            return f"[{', '.join(_nested(item) for item in value)}]"
        case "map":
            pairs = sorted((_nested(key), _nested(find(value, key))) for key in keys(value))
            return f"{{{', '.join(f'{key}:{inner}' for key, inner in pairs)}}}"
    wanted = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
    raise _wrong("string", value, wanted)


def _nested(value: Any) -> str:
    """A value inside a list or map reads as CEL would write it."""
    match kind_of(value):
        case "string":
            return quote(value)
        case "bytes":
            return f"b{quote(value.decode(errors='replace'))}"
        case "timestamp" | "duration":
            return f"{kind_of(value)}({quote(str(value))})"
        case "double":
            return f"{value:.6f}" if math.isfinite(value) else quote(number(value))
    return shown(value)


def _decimal(value: Any, _precision: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    raise _wrong("decimal", value, "integers")


def _fixed(value: Any, precision: int) -> str:
    return f"{_double(value, 'fixed-point'):,.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    mantissa, _, exponent = f"{_double(value, 'scientific'):.{precision}e}".partition("e")
    return f"{mantissa} \N{MULTIPLICATION SIGN} 10{_raised(exponent)}"


def _raised(exponent: str) -> str:
    sign = "⁻" if exponent.startswith("-") else ""
    return sign + exponent.lstrip("+-").translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _double(value: Any, verb: str) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _wrong(verb, value, "doubles")


def _based(base: str, verb: str, wanted: str) -> Callable[[Any, int], str]:
    def run(value: Any, _precision: int) -> str:
        if isinstance(value, int) and (base == "b" or not isinstance(value, bool)):
            return format(int(value), base)
        if isinstance(value, str | bytes) and base in "xX":
            hexed = (value.encode() if isinstance(value, str) else value).hex()
            return hexed.upper() if base == "X" else hexed
        raise _wrong(verb, value, wanted)

    return run


_CLAUSES: dict[str, Callable[[Any, int], str]] = {
    "s": shown,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _based("b", "binary", "integers and bools"),
    "x": _based("x", "hex", "integers, byte buffers, and strings"),
    "X": _based("X", "hex", "integers, byte buffers, and strings"),
    "o": _based("o", "octal", "integers"),
}
