"""Quantities as numbers, with Kubernetes' own rules in standalone as the judge."""

import pytest

from ingot.api import quantity
from ingot.standalone.builtin.quantity import Quantity


@pytest.mark.parametrize(
    "given", ["0", "1", 3, "500m", "1.5Gi", "2e3", "1E", "1Ei", "100u", "1.", ".5", "-2Ki", "12e-1", "1n", 2.0]
)
def test_it_reads_what_the_api_server_reads(given: str | int | float) -> None:
    assert quantity.exact(given) == Quantity.parse(given).exact
    assert quantity.whole(given) == Quantity.parse(given).whole


def test_cpus_are_counted_in_thousandths_rounded_up() -> None:
    assert [quantity.milli(given) for given in ("100m", 2, "0.0001", "1500u")] == [100, 2000, 1, 2]


@pytest.mark.parametrize("given", ["", "Gi", "1GiB", "1 Gi", "one", "1e", "--1"])
def test_what_is_none_is_refused_by_its_text(given: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.exact(given)
