"""One chunk on its way."""

import threading
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
    """One chunk that is fetched. When `landed` is set, it has its bytes or the fault that ended it."""

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
        self.landed.wait()
        if self.data is None:
            assert self.fault is not None
            raise self.fault
        return self.data
