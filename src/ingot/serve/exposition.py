"""Figures as Prometheus reads them."""

import asyncio
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

# For whoever does not say what he reads.
_encode, KIND = choose_encoder("")


async def exposed(families: Iterable[Metric]) -> bytes:
    """All of them, as KIND has it. They are made here and now, and written down in a thread."""
    registry = CollectorRegistry()
    registry.register(_Made(list(families)))
    return await asyncio.to_thread(_encode, registry)


class _Made(Collector):
    """Families of one moment."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families
