"""Headers that a person adds to requests."""

from ingot.images.fault import ImageFault

# Who changes these changes what a request means, and where it ends.
_OURS = frozenset(("range", "if-range", "host", "connection", "content-length", "transfer-encoding", "accept-encoding"))
_SUBJECT = "extraHeaders, secretExtraHeaders"


def parse_header(line: str, place: str) -> tuple[str, str]:
    """Reads `Name: value`, which is in `place`. Raises ImageFault, without a word of it: it may be a secret."""
    name, colon, value = line.partition(":")
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    if not colon or not plain or not value.isascii() or not value.strip().isprintable():
        message = f'a line of {place} is no header: "Name: value" is accepted, in ASCII'
        raise ImageFault(_SUBJECT, "BadHeader", message)
    if name.lower() in _OURS:
        raise ImageFault(_SUBJECT, "BadHeader", f"{name} is ours to send: leave it out")
    return name, value.strip()
