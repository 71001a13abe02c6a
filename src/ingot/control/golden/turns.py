"""Whose turn it is to ask a source: one namespace, whose sources may be slow, leaves room for the others."""

from collections import Counter
from collections.abc import Callable

from ingot.kube.cache import Key


class Turns:
    """At most `most` crons of a namespace at once. Who has no turn is called with `wake`, one for each that ends."""

    def __init__(self, most: int, wake: Callable[[Key], None]) -> None:
        self._most = most
        self._wake = wake
        self._asking: Counter[str] = Counter()
        # By namespace, in the order in which they came.
        self._waiting: dict[str, dict[Key, None]] = {}

    def begin(self, key: Key) -> bool:
        """Whether the cron may ask now; it is to say when it has ended."""
        if self._asking[key.namespace] >= self._most:
            self._waiting.setdefault(key.namespace, {})[key] = None
            return False
        self._asking[key.namespace] += 1
        return True

    def end(self, key: Key) -> None:
        """The cron has asked: the next of its namespace may."""
        self._asking[key.namespace] -= 1
        if not self._asking[key.namespace]:
            del self._asking[key.namespace]
        waiting = self._waiting.get(key.namespace, {})
        if not waiting:
            self._waiting.pop(key.namespace, None)
            return
        following = next(iter(waiting))
        del waiting[following]
        self._wake(following)
