"""Work that runs ahead in a thread of its own, so that reading, hashing, inflating and writing overlap."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Closed(Exception):
    """Somebody wants more of a relay that was closed."""


class Relay(Generic[T]):
    """The items of an iterator that is run in a thread, at most `depth` of them ahead of who takes them.

    At any moment at most `depth` + 2 items are in use: one that is being taken, and one that is being made. What the
    iterator raises is raised here, behind the items that came before.
    """

    def __init__(self, make: Callable[[], Iterator[T]], depth: int, name: str) -> None:
        self._depth = depth
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._closed = False
        self._raised: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(make,), name=name, daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._ended or self._closed)
            if self._closed:
                raise Closed
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
        if self._raised is not None:
            raise self._raised
        raise StopIteration

    def stop(self) -> None:
        """Asks the thread to end behind the item that it is at. Who wants another item gets Closed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the thread, and waits for that."""
        self.stop()
        self._thread.join()
        self._items.clear()

    def _run(self, make: Callable[[], Iterator[T]]) -> None:
        try:
            for item in make():
                if not self._hand_over(item):
                    break
        except BaseException as error:
            self._raised = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _hand_over(self, item: T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: len(self._items) < self._depth or self._closed)
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True
