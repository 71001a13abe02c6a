"""Transfers that gave way to others: since when they wait, for how long they rest, and what they are granted then."""

from dataclasses import dataclass, replace

from ingot.control.volumes.place import START_SECONDS
from ingot.kube.cache import Key
from ingot.kube.clock import Clock, timestamp

# What was sent back is let in again so much later, after failures twice as much each time, and no later than that: as
# the kubelet does with what fails, so that a server which is away is not asked all the time.
PAUSE_SECONDS, MOST_PAUSE_SECONDS = 10.0, 300.0
_MOST_LATE = 5


@dataclass(frozen=True, slots=True)
class _Return:
    """A transfer that gave way after so many `failures`, `turns` and `late` starts. But for the last it waits `since`
    then, and is not let in before `until`."""

    failures: int = 0
    turns: int = 0
    late: int = 0
    since: str = ""
    until: float = 0.0


class Returns:
    """Of those that never gave way, nothing is known."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[Key, _Return] = {}

    def add_failure(self, key: Key) -> None:
        """It failed, and waits behind the others from now on."""
        known = self._of(key)
        pause = min(PAUSE_SECONDS * 2 ** min(known.failures, 10), MOST_PAUSE_SECONDS)
        self._rest(key, replace(known, failures=known.failures + 1), pause)

    def add_turn(self, key: Key) -> None:
        """It has had its turn, and waits behind the others from now on."""
        known = self._of(key)
        self._rest(key, replace(known, turns=known.turns + 1), PAUSE_SECONDS)

    def add_late(self, key: Key) -> None:
        """It started late, and waits where it did before."""
        known = self._of(key)
        self._known[key] = replace(known, late=known.late + 1)

    def forget(self, key: Key) -> None:
        """The transfer is over."""
        self._known.pop(key, None)

    def is_resting(self, key: Key) -> bool:
        """Whether it is not to be let in yet."""
        return self._clock.monotonic() < self._of(key).until

    def since(self, key: Key) -> str:
        """Since when it waits; "" where that is since it is there."""
        return self._of(key).since

    def turns(self, key: Key) -> int:
        """How many turns it has had."""
        return self._of(key).turns

    def patience(self, key: Key) -> float:
        """How long its place is kept for a pod that has not started: twice as long after each that was late, lest it
        never get one where all others are quicker."""
        return START_SECONDS * float(1 << min(self._of(key).late, _MOST_LATE))

    def _rest(self, key: Key, given: _Return, pause: float) -> None:
        since, until = timestamp(self._clock.time()), self._clock.monotonic() + pause
        self._known[key] = replace(given, since=since, until=until)

    def _of(self, key: Key) -> _Return:
        return self._known.get(key, _Return())
