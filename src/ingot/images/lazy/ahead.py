"""What is fetched of an image ahead of its readers."""

import logging
import threading

from ingot.images.boot import hint
from ingot.images.cache import Cache
from ingot.images.container_disk import ContainerDisk
from ingot.images.fault import ImageFault
from ingot.images.lazy import trace
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.hydrate import Hydrator
from ingot.images.lazy.pace import Pace
from ingot.images.registry.client import Registry

log = logging.getLogger(__name__)

# A request that hangs is left to its own end.
_CLOSE_SECONDS = 5.0


class Ahead:
    """Fetches what a boot reads, where it is to `follow` that and it is known: from a trace that is attached to the
    image, or else by what the image says; where it is not known, the front. Then the rest, where there is a pace for
    that. Any number of threads may use it."""

    def __init__(
        self,
        registry: Registry,
        disk: ContainerDisk,
        chunks: LazyChunks,
        cache: Cache,
        *,
        follow: bool,
        pace: Pace | None,
    ) -> None:
        self._registry = registry
        self._disk = disk
        self._chunks = chunks
        self._cache = cache
        self._follow = follow
        self._pace = pace
        self._lock = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._hydrator: Hydrator | None = None

    @property
    def hydrated(self) -> bool:
        """Whether the rest is in the cache, as far as that goes."""
        return self._hydrator is not None and self._hydrator.done.is_set()

    def begin(self) -> None:
        """Goes to work in the background, where that was not done before, nor `stop`. Where there is no thread for it,
        nothing is fetched ahead until this is called again."""
        with self._lock:
            if self._closed or self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="ahead", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                log.warning("%s: nothing is fetched ahead: %s", self._disk.image.reference, error)
                return
            self._thread = thread

    def stop(self) -> None:
        """What is not there yet is left."""
        with self._lock:
            self._closed = True
        if self._hydrator is not None:
            self._hydrator.stop()

    def join(self) -> None:
        """After `stop`, and when nothing is fetched any more: when this returns, the chunks are not used any more."""
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)
        if self._hydrator is not None:
            self._hydrator.join()

    def _run(self) -> None:
        order = (self._traced() or self._foretold()) if self._follow else None
        if self._closed:
            return
        if order:
            self._chunks.follow(order)
        else:
            self._chunks.begin()
        with self._lock:
            if self._pace is not None and not self._closed:
                self._hydrator = Hydrator(self._chunks, self._cache, self._pace)

    def _traced(self) -> list[int] | None:
        """A trace is a hint: without it, and with a bad one, the disk is read all the same."""
        if self._disk.pieces is None:
            # Numbers of an index are those of one machine; a trace counts chunks that are the same everywhere.
            return None
        try:
            found = trace.find(self._registry, self._disk.image)
        except ImageFault as fault:
            log.warning("no trace is followed: %s", fault)
            return None
        same = found is not None and found.layer == str(self._disk.layer.digest)
        return found.numbers(len(self._chunks.table)) if found is not None and same else None

    def _foretold(self) -> list[int] | None:
        """What the image says of its boot, where nobody has recorded one: a hint, too."""
        if self._disk.pieces is None:
            return None
        try:
            chunks = hint.foretold(self._disk.layer, self._disk.pieces)
        except ImageFault as fault:
            log.warning("the boot that the image foretells is not followed: %s", fault)
            return None
        return [self._chunks.table.number(chunk) for chunk in chunks]
