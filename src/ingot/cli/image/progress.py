"""Progress in bytes: one line on a terminal, nothing elsewhere."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Often enough to be seen moving, and seldom enough to cost nothing.
_SECONDS = 0.1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def in_bytes(count: float) -> str:
    """A number of bytes for people, as 1.4 GiB."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


class Progress:
    """Called with the bytes that are done and those in all, 0 where nobody knows; draws at most ten times a second."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._began = self._drawn = clock()
        self._first: int | None = None
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if self._first is None:
            self._first = done
        if now - self._drawn < _SECONDS:
            return
        self._drawn = now
        self._shown = True
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{self.line(done, total)[:width]}\x1b[K")
        sys.stderr.flush()

    def line(self, done: int, total: int) -> str:
        """What is shown: how much of how much, how fast, and how long it will take."""
        seconds = self._clock() - self._began
        speed = (done - (self._first or 0)) / seconds if seconds > 0 else 0.0
        share = f"{in_bytes(done)} of {in_bytes(total)} ({100 * done // total}%)" if total else in_bytes(done)
        text = f"{self._what}: {share}, {in_bytes(speed)}/s"
        if total and speed > 0:
            text += f", {in_time((total - done) / speed)} left"
        return text

    def clear(self) -> None:
        """Takes the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def in_time(seconds: float) -> str:
    """A length of time for people, as 3m07s."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _nothing(done: int, total: int) -> None:
    """Progress for nobody."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """The progress of a block of work, shown while it lasts where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    shown = Progress(what)
    try:
        yield shown
    finally:
        shown.clear()
