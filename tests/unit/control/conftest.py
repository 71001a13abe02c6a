"""Fixtures that tests of controllers share."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def in_berlin() -> Iterator[None]:
    """The machine's own zone is one whose clocks change, so that what is in UTC by chance is found out."""
    with pytest.MonkeyPatch.context() as patch:
        # In full, for a machine may have no names of zones.
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()
