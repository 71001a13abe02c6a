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
class Flight:
    """One chunk that is fetched. When `landed` is set, it has its bytes or the fault that ended it; before that it may
    have the fault of a try that failed.

    `deadline`: until when one who has asked for it waits for a remote that fails; 0 where nobody has."""

    number: int
    lane: Lane
    landed: threading.Event = field(default_factory=threading.Event)
    data: bytes | memoryview | None = None
    fault: ImageFault | None = None
    # Whether it shares no request with others, since one that it was in has failed.
    alone: bool = False
    deadline: float = 0.0

    def wait(self) -> bytes | memoryview:
        """Its bytes. Raises ImageFault."""
        patience = self.deadline - time.monotonic() if self.deadline else None
        if not self.landed.wait(patience) and self.fault is None:
            # The line is slow, or others are before it.
            self.landed.wait()
        if self.data is None:
            assert self.fault is not None
            raise self.fault
        return self.data
