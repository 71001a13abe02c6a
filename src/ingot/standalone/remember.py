"""Answers that are kept, for what clients ask again and again."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Clients may send texts of a megabyte. Whoever sends many must not fill our memory with them.
LONGEST = 4096


def remember(count: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keeps a function's last answers, but none to texts that are long."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        kept = lru_cache(count)(function)

        @wraps(function)
        def answer(*args: P.args, **kwargs: P.kwargs) -> T:
            if sum(len(arg) for arg in args if isinstance(arg, str)) > LONGEST:
                return function(*args, **kwargs)
            return kept(*args, **kwargs)  # type: ignore[arg-type]  # its stub cannot say that all are hashable

        return answer

    return decorate
