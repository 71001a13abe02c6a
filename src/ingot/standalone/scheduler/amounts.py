"""How much a pod asks for and a node has: whole numbers by resource, so that they add up exactly."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from ingot.api.object import Object
from ingot.api.quantity import Quantity

# By the resource's name: thousandths of a core for cpu, bytes or pieces for all else.
Amounts: TypeAlias = dict[str, int]

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"


@lru_cache(maxsize=1024)
def _amount(name: str, text: str | int | float) -> int:
    exact = Quantity.parse(text).exact * (1000 if name == CPU else 1)
    return -(-exact.numerator // exact.denominator)


def amounts(given: Mapping[str, str | int | float] | None) -> Amounts:
    """A resource list as numbers, rounded up."""
    return {name: _amount(name, text) for name, text in (given or {}).items()}


def size_of(text: str | int | float) -> int:
    """The bytes that a quantity of storage stands for, rounded up."""
    return _amount("storage", text)


def requests(pod: Object) -> Amounts:
    """What the scheduler must find room for.

    Containers run together, and so do the init containers that are restarted always with all that come after them;
    the other init containers run one after the other before. What the pod as a whole asks for replaces their sum.
    """
    spec = pod["spec"]
    together: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            together = _sum((together, asked))
            peak = _most(peak, together)
        else:
            peak = _most(peak, _sum((together, asked)))
    together = _sum((together, *map(_asked, spec.get("containers") or ())))
    whole = {**_most(together, peak), **_asked(spec)}
    return _sum((whole, amounts(spec.get("overhead"))))


def _asked(container: Object) -> Amounts:
    return amounts((container.get("resources") or {}).get("requests"))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
