"""What was learned of servers, as far as it was used lately: servers name others, and have no end."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """The values of the `most` keys that were used last. For several threads at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[_K, _V] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: _K) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _K) -> _V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: _K, value: _V) -> _V:
        with self._lock:
            return self._put(key, value)

    def made(self, key: _K, make: Callable[[], _V]) -> _V:
        """The value, made by `make` where there is none: that must be quick."""
        with self._lock:
            there = self._values.get(key)
            return self._put(key, make() if there is None else there)

    def items(self) -> list[tuple[_K, _V]]:
        with self._lock:
            return list(self._values.items())

    def discard(self, key: _K) -> None:
        with self._lock:
            self._values.pop(key, None)

    def _put(self, key: _K, value: _V) -> _V:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return value
