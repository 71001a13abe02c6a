"""Why a DataVolume gets no claim, or its claim is of no use."""

from ingot.control.volumes.filler import Reading


class VolumeFault(Exception):
    """For conditions and an event: `reason` is one word, `message` says what is wrong and what happens next.

    A `final` one ends the DataVolume. Any other is looked at again when one of the objects that it is about changes,
    and after `retry` seconds if that is given; until then the DataVolume is in `phase`. `restarts` is how often what
    was tried had to start again, `reading` how far it is.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        final: bool = False,
        retry: float | None = None,
        phase: str = "Pending",
        restarts: int = 0,
        reading: Reading | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.final = final
        self.retry = retry
        self.phase = phase
        self.restarts = restarts
        self.reading = reading
