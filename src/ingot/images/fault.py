"""What is wrong with an image, or with the way to it."""


class ImageFault(Exception):
    """Something of an image cannot be used.

    `subject` is the reference, URL or path, without credentials; `reason` one CamelCase word, such as WrongDigest;
    `message` what is wrong and what would be accepted. `retry`: whether the same call may succeed later.
    """

    def __init__(self, subject: str, reason: str, message: str, retry: bool = False) -> None:
        super().__init__(f"{subject}: {message}")
        self.subject = subject
        self.reason = reason
        self.message = message
        self.retry = retry
