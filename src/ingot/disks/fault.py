"""Why a disk cannot be had."""


class DiskFault(Exception):
    """What stands between a volume and its guest, for a condition and an event.

    `reason` is one word (`ClaimNotFound`), `message` says what is wrong and what would mend it. `retry` is in how many
    seconds it is worth another try by itself; None when only a change of objects can help, which wakes us anyway.
    """

    def __init__(self, volume: str, reason: str, message: str, retry: float | None = 10.0) -> None:
        super().__init__(f"volume {volume!r}: {message}")
        self.volume = volume
        self.reason = reason
        self.message = message
        self.retry = retry
