"""How many bytes a cache may have: what was given last is noted in its directory, for those who are given nothing."""

import logging
from pathlib import Path

from ingot.host.files import write_atomically

log = logging.getLogger(__name__)

LIMIT = 10 << 30
_NAME = "limit"
# More than any disk has.
_MOST_DIGITS = 20


def noted_limit(directory: Path) -> int | None:
    """The size that was given last for the cache in `directory`; None where none was, as in one that is new."""
    path = directory / _NAME
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_DIGITS + 2).strip()
    except OSError:
        return None
    if not text.isdigit() or len(text) > _MOST_DIGITS:
        message = "chunk cache: %s has no size in it, and without one it is %d GiB: give it anew with --cache-size"
        log.warning(message, path, LIMIT >> 30)
        return None
    return int(text)


def note_limit(directory: Path, limit: int) -> None:
    """Notes it for those who are given none from now on. A disk that does not take it is told of, and no failure."""
    if noted_limit(directory) == limit:
        return
    try:
        write_atomically(directory / _NAME, b"%d\n" % limit)
    except OSError as error:
        message = "chunk cache: %s takes no note of its size (%s): who is given no --cache-size keeps to another"
        log.warning(message, directory, error.strerror)
