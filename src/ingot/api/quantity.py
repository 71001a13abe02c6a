"""Kubernetes quantities: fixed-point numbers such as `500m`, `1.5Gi` and `2e3`."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
WRONG_FORMAT = f"quantities must match the regular expression '{PATTERN}'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"

# Nothing is given back (*+): digits could be split between the number and the suffix in as many ways as there are.
_parts = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII).fullmatch
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_LARGEST = 2**63 - 1
# Kubernetes takes any exponent; one that needs megabytes of digits to compare is nobody's wish.
_LARGEST_EXPONENT = 1000
_MOST_DIGITS = 4000


class QuantityError(ValueError):
    """The text is no quantity; the message is Kubernetes' own."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number `mantissa * 10**exponent`, and the text that it is written as."""

    mantissa: int
    exponent: int
    text: str

    @classmethod
    def parse(cls, given: str | int | float) -> Self:
        """Reads what JSON gives; `text` becomes the canonical form, which is what Kubernetes stores.

        Raises QuantityError.
        """
        text = _written(given)
        sign, digits, decimals, suffix = _split(text)
        exponent, form, factor = _interpret(suffix)
        decimals = decimals or ""
        mantissa = int((digits + decimals) or "0") * factor
        exponent -= len(decimals)
        if _kept(form, digits.lstrip("0"), decimals, exponent, suffix):
            return cls(-mantissa if sign == "-" else mantissa, exponent, text)
        if form == "binary" and mantissa > _LARGEST * 10 ** len(decimals):
            mantissa, exponent = _LARGEST, 0
        mantissa, exponent = _rounded(mantissa, exponent, -9)
        if sign == "-":
            mantissa = -mantissa
        return cls(mantissa, exponent, _canonical(mantissa, exponent, form))

    @property
    def exact(self) -> Fraction:
        return Fraction(self.mantissa) * Fraction(10) ** self.exponent

    @property
    def whole(self) -> int:
        """The value as an integer, rounded up: bytes, cores."""
        exact = self.exact
        return -(-exact.numerator // exact.denominator)

    def rounded_to_milli(self) -> str:
        """The text once fractions finer than a thousandth are rounded up: what resource lists keep."""
        mantissa, exponent = _rounded(abs(self.mantissa), self.exponent, -3)
        if exponent == self.exponent:
            return self.text
        return _canonical(mantissa if self.mantissa >= 0 else -mantissa, exponent, "decimal")


def _written(given: str | int | float) -> str:
    if isinstance(given, str):
        return given.strip()
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return str(given)


def _split(text: str) -> tuple[str, str, str | None, str]:
    found = _parts(text) if text else None
    if found is None:
        raise QuantityError(WRONG_FORMAT)
    sign, digits, decimals, suffix = found.groups()
    if len(digits) + len(decimals or "") > _MOST_DIGITS:
        raise QuantityError(WRONG_NUMBER)
    return sign, digits, decimals, suffix


def _interpret(suffix: str) -> tuple[int, str, int]:
    """(decimal exponent, form, factor) of a suffix."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal", 1
    if suffix in _BINARY:
        return 0, "binary", 2 ** _BINARY[suffix]
    if re.fullmatch(r"[eE][-+]?[0-9]{1,9}", suffix, re.ASCII):
        exponent = int(suffix[1:])
        if abs(exponent) <= _LARGEST_EXPONENT:
            return exponent, "exponent", 1
    raise QuantityError(WRONG_SUFFIX)


def _kept(form: str, digits: str, decimals: str, exponent: int, suffix: str) -> bool:
    """Whether Kubernetes keeps the text as it was written, because it looks canonical to it."""
    shifted = (digits or "0") + decimals
    if form == "binary":
        short = len(digits or "0") + _BINARY[suffix] * 3 // 10 < 15
        return not decimals and short and int(shifted) & 7 != 0
    if len(shifted) > 18 or exponent < -9:
        return False
    return exponent % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"


def _rounded(mantissa: int, exponent: int, scale: int) -> tuple[int, int]:
    """The number with no digit below `10**scale`, rounded away from zero."""
    if exponent >= scale:
        return mantissa, exponent
    return -(-mantissa // 10 ** (scale - exponent)), scale


def _canonical(mantissa: int, exponent: int, form: str) -> str:
    if mantissa == 0:
        return "0"
    if form == "binary":
        exact = Fraction(mantissa) * Fraction(10) ** exponent
        if abs(exact) >= 1024 and exact.denominator == 1:
            return _binary(exact.numerator)
        form = "decimal"
    while mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    ceiling = 18 if form == "decimal" else _LARGEST_EXPONENT * 2
    shift = exponent - min(exponent - exponent % 3, ceiling)
    mantissa, exponent = mantissa * 10**shift, exponent - shift
    if form == "decimal":
        return f"{mantissa}{_DECIMAL_SUFFIX[exponent]}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _binary(number: int) -> str:
    powers = 0
    while number % 1024 == 0 and powers < 6:
        number, powers = number // 1024, powers + 1
    return f"{number}{['', *_BINARY][powers]}"


def canonical(given: str | int | float) -> str:
    """The text that Kubernetes stores. Raises QuantityError."""
    return Quantity.parse(given).text


def exact(given: str | int | float) -> Fraction:
    """The number that a quantity stands for. Raises QuantityError."""
    return Quantity.parse(given).exact


def whole(given: str | int | float) -> int:
    """The number rounded up, as Kubernetes does for bytes and counts. Raises QuantityError."""
    return Quantity.parse(given).whole


def written(number: int) -> str:
    """Bytes as a quantity, in the largest binary unit that keeps them exact."""
    return _binary(number) if number else "0"
