"""Requests of this process to registries and web servers, counted."""

import threading
from collections import Counter

# In place of a status, where there was no answer.
LOST = "lost"


class Tally:
    """Requests by the status of their answers, for several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def answered(self, status: int) -> None:
        # A server may say any number, and each is kept.
        self._add(str(status) if 100 <= status < 600 else "other")

    def lost(self) -> None:
        self._add(LOST)

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def _add(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1


# Of the whole process, whoever asks: what matters to registries is who knocks, and how often.
REQUESTS = Tally()
