"""What is wrong with an image, or with the way to it."""

_OF_THE_WAY = frozenset(("BadCertificate", "Denied", "NotFound", "Refused", "Unauthorized", "Unreachable"))


class ImageFault(Exception):
    """Something of an image cannot be used.

    `subject` is the reference, URL or path, without credentials; `reason` one CamelCase word, such as WrongDigest;
    `message` what is wrong and what would be accepted. `retry`: whether the same call may succeed later.

    Both texts may quote what a stranger has written: they are kept to one line of what a terminal only shows.
    """

    def __init__(self, subject: str, reason: str, message: str, retry: bool = False) -> None:
        subject, message = _shown(subject), _shown(message)
        super().__init__(f"{subject}: {message}")
        self.subject = subject
        self.reason = reason
        self.message = message
        self.retry = retry

    @property
    def of_the_way(self) -> bool:
        """Whether it is about the way to the image, or who we are there, and not what came: people can mend that."""
        return self.reason in _OF_THE_WAY

    @property
    def final(self) -> bool:
        """Whether the same image would fail again, however often it is fetched."""
        return not self.retry and not self.of_the_way


def _shown(text: str) -> str:
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
