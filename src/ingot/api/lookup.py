"""Questions whose answer depends on other objects: they say which ones, and whoever can see them looks.

The API server of one machine looks into its store, and `ingot webhook` asks the cluster.
"""

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from ingot.api.object import Object
from ingot.api.resource import Resource

T = TypeVar("T")

# Yields kind, namespace and name of each object that must be seen, is sent that or None, and returns the answer.
Lookup: TypeAlias = Generator[tuple[Resource, str, str], Object | None, T]

# The object of a kind, namespace and name, as it is stored; None where there is none.
Read: TypeAlias = Callable[[Resource, str, str], Object | None]


def answered(lookup: Lookup[T], read: Read) -> T:
    """The answer, for who can see all objects at once."""
    seen: Object | None = None
    while True:
        try:
            wanted = lookup.send(seen)
        except StopIteration as end:
            answer: T = end.value
            return answer
        seen = read(*wanted)
