"""Figures of a server for Prometheus, summed over its processes."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from ingot.serve.exposition import exposed
from ingot.serve.supervisor import Supervisor
from ingot.serve.tally import KINDS, Tally
from ingot.serve.totals import Totals


async def figures(supervisor: Supervisor) -> bytes:
    """All of them."""
    totals = await supervisor.totals()
    workers = GaugeMetricFamily("ingot_serve_workers", "Processes that serve", len(supervisor.workers))
    return await exposed([workers, *_families(totals)])


def _families(totals: Totals) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
    present = GaugeMetricFamily("ingot_serve_connections", "Clients in transmission", labels=["export"])
    served = CounterMetricFamily("ingot_serve_clients", "Clients that got to transmission", labels=["export"])
    requests = CounterMetricFamily("ingot_serve_requests", "Requests", labels=["export", "kind"])
    read = CounterMetricFamily("ingot_serve_read_bytes", "Bytes that clients read", labels=["export"])
    written = CounterMetricFamily("ingot_serve_written_bytes", "Bytes that clients wrote", labels=["export"])
    errors = CounterMetricFamily("ingot_serve_errors", "Requests that failed", labels=["export"])
    fetched = CounterMetricFamily("ingot_serve_fetched_bytes", "Bytes that came over a network", labels=["export"])
    latency = HistogramMetricFamily(
        "ingot_serve_seconds", "From the arrival of requests to their replies", labels=["export"]
    )
    for name, total in totals.exports.items():
        present.add_metric([name], total.present)
        served.add_metric([name], total.served)
        for kind, count in zip(KINDS, total.tally.requests, strict=True):
            # A farewell is no request that is answered.
            if kind != "disconnect":
                requests.add_metric([name, kind], count)
        read.add_metric([name], total.tally.read)
        written.add_metric([name], total.tally.written)
        errors.add_metric([name], total.tally.errors)
        fetched.add_metric([name], total.fetched)
        latency.add_metric([name], _buckets(total.tally), total.tally.nanoseconds / 1e9)
    yield from (present, served, requests, read, written, errors, fetched, latency)


def _buckets(tally: Tally) -> list[tuple[str, float]]:
    """Each with what is below it, as Prometheus wants them."""
    found: list[tuple[str, float]] = []
    below = 0
    for place, count in enumerate(tally.buckets):
        below += count
        # Whole microseconds of up to `place` bits.
        found.append((str((1 << place) / 1e6), below))
    return [*found[:-1], ("+Inf", below)]
