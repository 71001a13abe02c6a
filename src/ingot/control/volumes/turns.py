"""How long transfers have had their places, and how fast they were: who keeps others waiting for little has a turn."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from ingot.kube.cache import Key
from ingot.kube.clock import Clock

# How long the first turn is. Each is twice as long as the last, so that also those come to their end that begin anew
# with every turn.
TURN_SECONDS = 60.0
# Who moves less in a second, over a whole turn, is slow: an image that is packed to 1 GiB takes more than an hour so.
SLOW_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the pod with that `uid` had done `since`, and has done now."""

    uid: str
    since: float
    had: int
    done: int


class Turns:
    """Those of the transfers that have told how far they are: of others nothing is known."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns: dict[Key, _Turn] = {}

    def note(self, key: Key, uid: str, done: int) -> None:
        """The pod that does it has moved so many bytes."""
        known = self._turns.get(key)
        if known is None or known.uid != uid:
            known = _Turn(uid, self._clock.monotonic(), done, done)
        self._turns[key] = _Turn(uid, known.since, min(known.had, done), done)

    def end(self, key: Key) -> None:
        """It is not at work any more, or has to begin a new turn."""
        self._turns.pop(key, None)

    def over(self, times: Mapping[Key, int], anew: Set[Key], waiting: Iterable[Key], places: int) -> list[Key]:
        """Those that may have to go, the slowest first: of those at work, which have had their turns so many
        `times`, and of which those that would begin `anew` go last.

        They are those that are slow, else one of a namespace that has all the places while another has to wait, unless
        it would lose what it has.
        """
        speeds = {key: self._speed(key) for key in times if self._is_over(key, times[key])}
        order = sorted(speeds, key=lambda key: (key in anew, speeds[key], key))
        if slow := [key for key in order if speeds[key] < SLOW_BYTES]:
            return slow
        counts = Counter(key.namespace for key in times)
        others = {key.namespace for key in waiting}
        crowded = {namespace for namespace in counts if counts[namespace] >= places and others - {namespace}}
        return [key for key in order if key.namespace in crowded and key not in anew][:1]

    def _is_over(self, key: Key, times: int) -> bool:
        turn = self._turns.get(key)
        return turn is not None and self._clock.monotonic() - turn.since >= TURN_SECONDS * 2 ** min(times, 10)

    def _speed(self, key: Key) -> float:
        turn = self._turns[key]
        return (turn.done - turn.had) / max(self._clock.monotonic() - turn.since, 1.0)
