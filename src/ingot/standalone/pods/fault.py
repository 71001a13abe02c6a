"""What keeps a pod or a container from starting."""


class PodFault(Exception):
    """`reason` is one CamelCase word as the kubelet's, `message` says what is wrong and what would mend it.

    It is tried again later, unless it is `final`: then the pod fails.
    """

    def __init__(self, reason: str, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.final = final
