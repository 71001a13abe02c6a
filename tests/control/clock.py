"""The clock of controllers that work while a test looks on."""

import asyncio
from collections.abc import Callable

from ingot.kube.clock import ManualClock, Timer

# Pauses after a conflict begin with 5 ms and grow; what controllers themselves wait for takes longer than this.
SHORT_SECONDS = 0.5


class WorldClock(ManualClock):
    """Stands still until it is moved, but for short pauses, which pass by themselves.

    Two writers meet in any test, and whoever came too late tries again: with time at a stop, it would wait for ever.
    """

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        if delay < SHORT_SECONDS:
            return asyncio.get_running_loop().call_later(delay, callback)
        return super().call_later(delay, callback)
