"""Pauses after what went wrong outside the API, such as a full disk: no change of an object ends them sooner."""

from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Result


class Pauses:
    """By name. A process that is started again tries at once."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def begin(self, name: str, seconds: float) -> Result:
        now = self._clock.monotonic()
        # Whose end nobody came to ask for is forgotten: names of what is gone do not come back.
        self._until = {each: until for each, until in self._until.items() if until > now} | {name: now + seconds}
        return Result(requeue_after=seconds)

    def rest(self, name: str) -> Result | None:
        """What is left of a pause; None when it is over, or there was none."""
        left = self._until.get(name, 0.0) - self._clock.monotonic()
        return Result(requeue_after=left) if left > 0 else None
