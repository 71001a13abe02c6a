"""The exports of a worker, held open so that they are there when a client comes."""

import logging
import threading
import time

from ingot.images.fault import ImageFault
from ingot.serve.catalog import Catalog, Lease
from ingot.serve.entry import Entry
from ingot.serve.totals import Totals

_log = logging.getLogger(__name__)


class Holding:
    """Used by several threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._leases: dict[str, Lease] = {}

    def add(self, entry: Entry, pin: bool) -> bool:
        """Lists it; whether it is a directory. `pin`: it was good before, and is opened in the background. Raises
        ImageFault and OSError."""
        self._catalog.add(entry)
        folder = self._catalog.is_folder(entry.name)
        if pin and not folder:
            try:
                threading.Thread(target=self._pin, args=(entry.name,), daemon=True).start()
            except RuntimeError as error:
                _unpinned(entry.name, error)
        return folder

    def open(self, name: str) -> int:
        """Opens it, which may take long, and holds it; its size. Raises KeyError when there is none of that name, or
        none any more, ImageFault and OSError."""
        lease = self._catalog.take(name)
        with self._lock:
            # Whoever removes it either finds the lease here, or has let us know before.
            kept = not lease.gone and name not in self._leases
            if kept:
                self._leases[name] = lease
        size = lease.export.size
        if not kept:
            lease.release()
        if lease.gone:
            raise KeyError(name)
        return size

    def remove(self, name: str) -> None:
        """Those who use it go on; it is closed in the background. Raises KeyError."""
        self._catalog.remove(name)
        with self._lock:
            lease = self._leases.pop(name, None)
        if lease is not None:
            _release(lease)

    def close(self, seconds: float) -> None:
        """Lets go of all, as far as that takes no longer: what they keep among the temporary files goes with them."""
        with self._lock:
            leases, self._leases = self._leases, {}
        deadline = time.monotonic() + seconds
        for thread in [_release(lease) for lease in leases.values()]:
            if thread is not None:
                thread.join(max(0.0, deadline - time.monotonic()))

    def report(self, totals: Totals) -> None:
        """Adds what came over networks, and what is on its way."""
        with self._lock:
            for lease in self._leases.values():
                totals.fetched(lease.name, lease.export.fetched)
        for name, progress in self._catalog.preparing().items():
            totals.preparing(name, progress)

    def _pin(self, name: str) -> None:
        try:
            self.open(name)
        except (KeyError, OSError, ImageFault) as error:
            _unpinned(name, error)


def _release(lease: Lease) -> threading.Thread | None:
    """What waits for a network may take long to close: the thread that does it; None where there is no more to do."""
    thread = threading.Thread(target=lease.release, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        lease.release()
        return None
    return thread


def _unpinned(name: str, why: Exception) -> None:
    _log.warning("export %r is opened when a client asks for it: %s", name, why)
