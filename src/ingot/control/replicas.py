"""Which instances of a replica set count, which are to go, and how many are made at a time."""

from collections.abc import Iterable, Iterator

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of
from ingot.kube.objects import is_deleting, is_true


def active(instances: Iterable[Object]) -> list[Object]:
    """Those that live: neither ended nor about to go."""
    return [each for each in instances if not is_deleting(each) and not phase.is_final(each)]


def ended(instances: Iterable[Object]) -> list[Object]:
    """Those that have ended and are still there: each is deleted, for another takes its place."""
    return [each for each in instances if not is_deleting(each) and phase.is_final(each)]


def ready(instances: Iterable[Object]) -> int:
    return sum(is_true(each, "Ready") for each in instances)


def victims(instances: Iterable[Object], count: int) -> list[Object]:
    """The `count` that are missed the least: those that are not ready, then the youngest."""
    by_age = sorted(instances, key=lambda each: (each["metadata"].get("creationTimestamp", ""), name_of(each)))
    by_age.reverse()
    return sorted(by_age, key=lambda each: is_true(each, "Ready"))[:count]


def batches(count: int) -> Iterator[int]:
    """1, 2, 4, …: a template that the server refuses is refused once, not a hundred times."""
    size = 1
    while count > 0:
        yield min(size, count)
        count -= size
        size *= 2
