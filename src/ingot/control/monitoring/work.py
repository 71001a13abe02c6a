"""How the controllers themselves do (G9)."""

from collections.abc import Iterator

from prometheus_client import ProcessCollector

from ingot.control.monitoring.family import Family, by, counter, gauge
from ingot.images.registry.tally import REQUESTS
from ingot.kube.manager import Manager


class WorkFigures:
    """Whether this process leads, what waits and was done in it, and what it takes of the machine."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._process = ProcessCollector(registry=None)

    def families(self) -> Iterator[Family]:
        leads = self._manager.leads and self._manager.has_synced
        doc = "1 in the process whose controllers work, and whose figures of objects count"
        yield gauge("ingot_controllers_leading", doc, rows=[((), leads)])
        doc = "Keys that wait to be worked on"
        yield gauge("ingot_queue_depth", doc, ("controller",), by(self._manager.waiting()))
        tally = self._manager.tally
        calls = ((pair, count) for pair, count in sorted(tally.calls.items()))
        yield counter("ingot_reconcile", "Looks at an object, by how they ended", ("controller", "outcome"), calls)
        yield counter("ingot_reconcile_seconds", "Seconds that those took", ("controller",), by(tally.seconds))
        doc = "Requests to registries and web servers by the status of the answer, for new versions of golden images"
        yield counter("ingot_registry_requests", doc, ("code",), by(REQUESTS.counts()))
        yield from self._process.collect()
