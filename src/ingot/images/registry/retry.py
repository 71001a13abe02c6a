"""Trying again: how often, and how long to wait between."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from ingot.images.fault import ImageFault
from ingot.images.registry.settings import Settings

_T = TypeVar("_T")


class Busy(ImageFault):
    """A server that cannot answer at present. `after`: the seconds that it asks to wait, 0 where it does not say."""

    def __init__(self, subject: str, message: str, after: float) -> None:
        super().__init__(subject, "Busy", message, retry=True)
        self.after = after


def persist(settings: Settings, work: Callable[[], _T]) -> _T:
    """What `work` gives, tried again after each fault that may pass. Raises ImageFault."""
    backoff = Backoff(settings)
    while True:
        try:
            return work()
        except ImageFault as fault:
            backoff.wait(fault)


class Backoff:
    """Counts the tries of one piece of work."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tries = 0

    def progress(self) -> None:
        """Something was achieved: the tries count anew."""
        self._tries = 0

    def wait(self, fault: ImageFault) -> None:
        """Returns when it is time to try again. Raises the fault where it is final, or was met too often, or where
        the server wants to be left alone for longer than we wait."""
        self._tries += 1
        asked = fault.after if isinstance(fault, Busy) else 0.0
        if not fault.retry or self._tries >= self._settings.tries or asked > self._settings.longest_wait:
            raise fault
        usual = self._settings.backoff * 2 ** (self._tries - 1)
        # Clients that failed together must not come back together.
        spread = usual * random.uniform(0.5, 1.0)  # noqa: S311
        time.sleep(min(max(asked, spread), self._settings.longest_wait))
