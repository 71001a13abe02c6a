"""What failed outside the API waits, whatever wakes it."""

from ingot.kube.clock import ManualClock
from ingot.kube.controller import Result
from ingot.standalone.volumes.pauses import Pauses


async def test_a_pause_lasts_as_long_as_it_was_told() -> None:
    clock = ManualClock()
    pauses = Pauses(clock)
    assert pauses.rest("v") is None
    assert pauses.begin("v", 60.0) == Result(requeue_after=60.0)
    assert pauses.rest("v") == Result(requeue_after=60.0)
    assert pauses.rest("w") is None
    await clock.advance(59.0)
    assert pauses.rest("v") == Result(requeue_after=1.0)
    await clock.advance(1.0)
    assert pauses.rest("v") is None
