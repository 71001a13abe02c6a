"""Quantities as controllers and nodes read them: the number behind `500m`, `1.5Gi` and `2e3`."""

import re
from fractions import Fraction

_parts = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([eE][+-]?[0-9]{1,3}|[KMGTPE]i|[numkMGTPE])?", re.ASCII
).fullmatch
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def exact(given: str | int | float) -> Fraction:
    """The number that is meant. ValueError for what is no quantity: schemas have kept that out of stored objects."""
    found = _parts(str(given).strip())
    if found is None:
        raise ValueError(f"{given!r} is not a quantity such as 500m, 2 or 1.5Gi")
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _BINARY:
        return number * 2 ** _BINARY[suffix]
    exponent = int(suffix[1:]) if suffix[:1] in ("e", "E") and len(suffix) > 1 else _DECIMAL.get(suffix, 0)
    power = 10 ** abs(exponent)
    return number * power if exponent >= 0 else number / power


def whole(given: str | int | float) -> int:
    """Bytes or cores, rounded up as Kubernetes does."""
    return -(-exact(given) // 1)


def milli(given: str | int | float) -> int:
    """Thousandths, rounded up: what CPUs are counted in."""
    return -(-exact(given) * 1000 // 1)
