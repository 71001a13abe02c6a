"""Families of figures, a little shorter to write."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

Family: TypeAlias = Metric
# Values by what their labels say, in order.
Rows: TypeAlias = Iterable[tuple[Sequence[str], float]]


def gauge(name: str, doc: str, labels: Sequence[str] = (), rows: Rows = ()) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, doc, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family


def counter(name: str, doc: str, labels: Sequence[str] = (), rows: Rows = ()) -> CounterMetricFamily:
    """Prometheus sees it with `_total` at its end."""
    family = CounterMetricFamily(name, doc, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family


def by(counts: Mapping[str, float]) -> Rows:
    """Rows of one label."""
    return (((key,), value) for key, value in sorted(counts.items()))
