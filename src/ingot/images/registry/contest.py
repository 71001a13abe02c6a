"""Changes of a document that others change too. No registry can be told to replace only what was read: whoever has read
it before us, and writes it after us, undoes our change without knowing."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from ingot.images.fault import ImageFault

_T = TypeVar("_T")
_MOST_TURNS = 10
_LONGEST_PAUSE = 5.0


def outlast(change: Callable[[], None], settled: Callable[[], _T | None], subject: str) -> _T:
    """Reads the document and writes it anew by `change`, until that lasts: what `settled` reads in it then, which gives
    None before. Raises ImageFault."""
    for _ in range(_MOST_TURNS):
        began = time.monotonic()
        change()
        # Those who have read it before us take about as long as we do. Not all come back at the same moment.
        pause = (time.monotonic() - began) * random.uniform(1.0, 2.0)  # noqa: S311
        time.sleep(min(pause, _LONGEST_PAUSE))
        if (found := settled()) is not None:
            return found
    message = "others change it all the time, and undo what we do: try again"
    raise ImageFault(subject, "Contested", message, retry=True)
