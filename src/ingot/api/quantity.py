"""Kubernetes quantities: `500m`, `2Gi`, `1e3`."""

import re
from decimal import ROUND_CEILING, Decimal

_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE]?)$")
_SUFFIXES = {
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{suffix: Decimal(1000) ** -power for power, suffix in enumerate("mun", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


class QuantityError(ValueError):
    """A text that is no quantity."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not a quantity such as 500m, 2Gi or 1e3")
        self.text = text


def exact(quantity: str | int | float) -> Decimal:
    """The number that a quantity stands for. Raises QuantityError."""
    matched = _FORM.match(str(quantity).strip())
    if matched is None:
        raise QuantityError(str(quantity))
    number, suffix = matched.groups()
    if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
        return Decimal(number) * Decimal(10) ** int(suffix[1:])
    return Decimal(number) * _SUFFIXES[suffix]


def whole(quantity: str | int | float) -> int:
    """The number rounded up, as Kubernetes does for bytes and counts. Raises QuantityError."""
    return int(exact(quantity).to_integral_value(ROUND_CEILING))


def milli(quantity: str | int | float) -> int:
    """Thousandths, rounded up, as CPUs are counted. Raises QuantityError."""
    return int((exact(quantity) * 1000).to_integral_value(ROUND_CEILING))


def written(number: int) -> str:
    """Bytes as a quantity, in the largest binary unit that keeps them exact."""
    for power, unit in reversed(list(enumerate("KMGTPE", start=1))):
        if number and number % 1024**power == 0:
            return f"{number // 1024**power}{unit}i"
    return str(number)
