"""What an import does with its bytes, whichever way they go."""

from collections.abc import Callable
from typing import Protocol

from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.journal import Journal, State


class Interrupted(KeyboardInterrupt):
    """An import that its user has ended. The next one of the same goes on from `moved` bytes; 0: it begins anew."""

    def __init__(self, moved: int) -> None:
        super().__init__()
        self.moved = moved


class Work(Protocol):
    """The way of the bytes from a source to a target: Copier or Pourer. Of all that are to come, `total`, `moved` are
    done; `written` are on the disk, and `spooled` were put aside."""

    @property
    def total(self) -> int: ...

    @property
    def moved(self) -> int: ...

    @property
    def written(self) -> int: ...

    @property
    def spooled(self) -> int: ...

    def resume(self, state: State) -> bool:
        """Takes up where an earlier one was; False when that is not known."""

    def run(self, journal: Journal, bounds: Bounds, progress: Callable[[int, int], None]) -> int:
        """Writes the rest of the disk; its size. Raises ImageFault and OSError, with all threads ended."""
