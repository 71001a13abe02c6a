"""Trying again: how often, and how long to wait between."""

import logging
import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from ingot.images.fault import ImageFault
from ingot.images.registry.settings import Settings

log = logging.getLogger(__name__)

_T = TypeVar("_T")
RATE_LIMITED: Final = "RateLimited"
# A wait that a person who looks on should know of.
_LONG_SECONDS = 1.0
_ABSENT_TRIES = 2


class Busy(ImageFault):
    """A server that cannot answer at present. `after`: the seconds that it asks to wait, 0 where it does not say.
    `limited`: it has been asked too often, by those who are one to it."""

    def __init__(self, subject: str, message: str, after: float, *, limited: bool = False) -> None:
        super().__init__(subject, RATE_LIMITED if limited else "Busy", message, retry=True)
        self.after = after


class Absent(ImageFault):
    """A server that has never answered. It is probably not there at all, so one more try is enough."""

    def __init__(self, fault: ImageFault) -> None:
        super().__init__(fault.subject, fault.reason, fault.message, retry=True)


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
        most = min(self._settings.tries, _ABSENT_TRIES) if isinstance(fault, Absent) else self._settings.tries
        if not fault.retry or self._tries >= most or asked > self._settings.longest_wait:
            raise fault
        usual = self._settings.backoff * 2 ** (self._tries - 1)
        # Clients that failed together must not come back together.
        spread = usual * random.uniform(0.5, 1.0)  # noqa: S311
        wait = min(max(asked, spread), self._settings.longest_wait)
        # A server that was too slow has kept us waiting for long already.
        if wait >= _LONG_SECONDS or fault.reason == "TooSlow":
            log.warning("%s; tried again in %.1f s", fault, wait)
        time.sleep(wait)
