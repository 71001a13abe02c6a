"""All figures of a process of controllers, and the page on which Prometheus finds them (G9)."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from ingot.control.monitoring.certificates import certificate_families
from ingot.control.monitoring.classes import ClassFigures
from ingot.control.monitoring.credentials import CredentialFigures
from ingot.control.monitoring.crons import CronFigures
from ingot.control.monitoring.datasources import DataSourceFigures
from ingot.control.monitoring.family import Family
from ingot.control.monitoring.storage import Pool, StorageFigures
from ingot.control.monitoring.volumes import VolumeFigures
from ingot.control.monitoring.work import WorkFigures
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager
from ingot.serve.exposition import KIND, exposed
from ingot.serve.page import shown

log = logging.getLogger(__name__)


class Figures:
    """Made before the manager runs. All is read off its caches when it is asked for.

    Those of objects are told by the process that leads alone, once its caches are full: else each would be there as
    often as there are processes, and in some of them out of date.
    """

    def __init__(
        self,
        manager: Manager,
        *,
        pool: Pool | None = None,
        certificates: Callable[[], dict[str, Path]] = dict,
        clock: Clock = SYSTEM,
    ) -> None:
        """`pool`: where the volumes of one machine lie. `certificates`: files of the installation, by name."""
        self._manager = manager
        self._certificates = certificates
        self._work = WorkFigures(manager)
        self._of_objects = (
            CronFigures(manager),
            DataSourceFigures(manager),
            VolumeFigures(manager),
            ClassFigures(manager, clock),
            StorageFigures(manager, pool, clock),
            CredentialFigures(manager, clock),
        )

    def families(self) -> Iterator[Family]:
        yield from self._work.families()
        yield from _those(lambda: certificate_families(self._certificates()))
        if self._manager.leads and self._manager.has_synced:
            for figures in self._of_objects:
                yield from _those(figures.families)

    async def page(self) -> bytes:
        return await exposed(self.families())

    async def serve(self, host: str, port: int, ready: Callable[[int], None]) -> None:
        """Shows the page until cancelled; `ready` is told the port. Raises ImageFault where it cannot be shown."""
        async with shown(self.page, KIND, host, port) as found:
            ready(found)
            await asyncio.Event().wait()


def _those(told: Callable[[], Iterator[Family]]) -> Iterator[Family]:
    """What is told of one matter; where that fails nothing, with a word in the log: others are told nonetheless."""
    try:
        yield from list(told())
    except Exception:
        log.exception("figures are left out of the page")
