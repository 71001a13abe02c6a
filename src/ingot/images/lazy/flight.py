"""One chunk on its way."""

import threading
import time
from dataclasses import dataclass, field
from enum import IntEnum

from ingot.images.fault import ImageFault


class Lane(IntEnum):
    """Why a chunk is fetched; the lower go first."""

    DEMAND = 0
    GUESS = 1
    TRACE = 2
    REST = 3


@dataclass(slots=True)
class Patience:
    """For how many seconds a remote is borne with that fails: since it was asked, or has last `given` a chunk. One that
    gives is not away, and the others wait for their turn."""

    seconds: float
    given: float = 0.0

    def end(self, asked: float) -> float:
        return max(asked, self.given) + self.seconds


@dataclass(slots=True)
class Flight:
    """One chunk that is fetched. When `landed` is set, it has its bytes or the fault that ended it; before that it may
    have the fault of a try that failed.

    `asked`: when somebody has last asked for it; 0 where nobody has."""

    number: int
    lane: Lane
    patience: Patience
    landed: threading.Event = field(default_factory=threading.Event)
    data: bytes | memoryview | None = None
    fault: ImageFault | None = None
    # Whether it shares no request with others, since one that it was in has failed; and since when it has had its turn.
    alone: bool = False
    turn: float = 0.0
    asked: float = 0.0

    def ask(self) -> None:
        """Somebody waits for it from now on."""
        self.asked = time.monotonic()
        self.turn = 0.0

    def wait(self) -> bytes | memoryview:
        """Its bytes. Raises ImageFault."""
        while not self.landed.wait(self.patience.end(self.asked) - time.monotonic() if self.asked else None):
            if self.fault is None:
                # The line is slow, or others are before it.
                self.landed.wait()
            elif time.monotonic() >= self.patience.end(self.asked):
                break
        if self.data is None:
            assert self.fault is not None
            raise self.fault
        return self.data

    def hopeless(self) -> bool:
        """Whether its faults were borne for long enough. What others are given is no comfort for ever: its own tries
        have that time, and no more."""
        now = time.monotonic()
        return now >= min(self.patience.end(self.asked), (self.turn or now) + self.patience.seconds)
