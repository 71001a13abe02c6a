"""What was done for clients, over workers that come and go."""

import asyncio
from collections.abc import Callable, Sequence

from ingot.serve.link import Link
from ingot.serve.totals import Totals


class Ledger:
    """`links` are the workers that there are, kept by somebody else. Runs in one event loop."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        # What workers did that have ended.
        self._past = Totals()

    async def sum(self) -> Totals:
        """What all workers did, those that have ended included."""
        await asyncio.gather(*(link.report() for link in self._links))
        summed = self._past.copy()
        for link in self._links:
            summed.merge(link.totals)
        return summed

    def close(self, link: Link) -> None:
        """A worker has ended, and is none of the links any more. What it told last is kept."""
        for total in link.totals.exports.values():
            total.present, total.preparing = 0, (0, 0)
        self._past.merge(link.totals)

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Forgets the exports that are not wanted. No worker must tell of them any more."""
        for totals in (self._past, *(link.totals for link in self._links)):
            totals.keep(wanted)
