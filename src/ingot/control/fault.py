"""Why an instance cannot be handed to a node yet."""


class InstanceFault(Exception):
    """For a condition and an event: `reason` is one word, `message` says what is wrong and what happens next.

    It is looked at again when one of the objects that it is about changes, and after `retry` seconds if that is given.
    """

    def __init__(self, reason: str, message: str, retry: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry = retry
