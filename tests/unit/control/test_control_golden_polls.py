"""When a cron's source is asked, and what an answer makes of the cron (G3)."""

from itertools import pairwise
from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.golden.polls import answered, due_at, failed
from ingot.images.fault import ImageFault
from ingot.images.registry.refusal import LOG_IN
from ingot.images.watching.version import Version
from ingot.kube.clock import timestamp

NOW = 1_800_000_000.0
HOUR = 3600.0
TEMPLATE = {"spec": {"source": {"registry": {"url": "docker://a/b"}}}}
DIGEST = f"sha256:{'a' * 64}"
pytestmark = pytest.mark.usefixtures("in_berlin")


def cron(schedule: str = "0 * * * *", **annotations: str) -> Object:
    told = {getattr(names, key): text for key, text in annotations.items()}
    return {"metadata": {"uid": "uid", "annotations": told}, "spec": {"schedule": schedule, "template": TEMPLATE}}


def with_notes(found: Object, notes: dict[str, Any]) -> Object:
    told = found["metadata"]["annotations"] | notes
    kept = {key: text for key, text in told.items() if text is not None}
    return {**found, "metadata": {**found["metadata"], "annotations": kept}}


def test_a_new_cron_is_asked_at_once_and_then_by_its_schedule() -> None:
    new = cron()
    assert due_at(new, NOW) == NOW
    asked = with_notes(new, answered(new, Version(DIGEST, "latest"), NOW))
    due = due_at(asked, NOW)
    assert due is not None
    assert NOW < due <= NOW + HOUR * 1.2
    assert asked["metadata"]["annotations"][names.DESIRED_DIGEST] == DIGEST
    assert names.UNREACHABLE_SINCE not in asked["metadata"]["annotations"]


# As it may have been stored before there was admission.
@pytest.mark.parametrize("schedule", ["", "whenever", "0 0 31 2 *"])
def test_one_without_a_schedule_is_asked_when_somebody_says_so(schedule: str) -> None:
    assert due_at(cron(schedule), NOW) is None
    told = cron(schedule, CHECK_NOW="a")
    assert due_at(told, NOW) == NOW
    asked = with_notes(told, answered(told, Version(DIGEST, "latest"), NOW))
    assert due_at(asked, NOW) is None
    assert due_at(with_notes(asked, {names.CHECK_NOW: "b"}), NOW) == NOW


def test_a_source_that_is_not_delivered_is_not_asked() -> None:
    stream = cron()
    stream["spec"]["template"] = {"spec": {"source": {"registry": {"imageStream": "rhel8-is"}}}}
    assert due_at(stream, NOW) is None


def test_a_source_that_does_not_answer_is_asked_again_and_keeps_what_was_known() -> None:
    known = cron("", DESIRED_DIGEST=DIGEST, CHECK_NOW="a")
    fault = ImageFault("docker://a/b", "Unreachable", "nothing listens there")
    silent = with_notes(known, failed(known, fault, NOW))
    notes = silent["metadata"]["annotations"]
    assert notes[names.UNREACHABLE_SINCE] == timestamp(NOW)
    assert "nothing listens there" in notes[names.UNREACHABLE_WHY]
    assert notes[names.DESIRED_DIGEST] == DIGEST
    due = due_at(silent, NOW)
    assert due is not None
    assert NOW + 60 <= due <= NOW + 92
    later = with_notes(silent, failed(silent, fault, NOW + 86400))
    assert later["metadata"]["annotations"][names.UNREACHABLE_SINCE] == timestamp(NOW)
    back = with_notes(later, answered(later, Version(DIGEST, "latest"), NOW + 90000))
    assert names.UNREACHABLE_SINCE not in back["metadata"]["annotations"]
    assert names.UNREACHABLE_WHY not in back["metadata"]["annotations"]


def looks(found: Object, until: float) -> list[float]:
    """When the source is asked from NOW on: the clock goes to each moment that is due, and the source answers."""
    times, now = [], NOW
    while (due := due_at(found, now)) is not None and due <= until:
        # A controller wakes at that moment, or a little later.
        now = max(due, now) + 0.01
        if (due_at(found, now) or until) <= now:
            times.append(now)
            found = with_notes(found, answered(found, Version(DIGEST, "latest"), now))
    return times


WRITTEN = ("2999-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00")


@pytest.mark.parametrize("following", [*WRITTEN, "yesterday", ""])
@pytest.mark.parametrize("last", [*WRITTEN, "yesterday", "", timestamp(NOW), timestamp(NOW - HOUR)])
def test_times_that_somebody_wrote_keep_no_cron_from_its_schedule(last: str, following: str) -> None:
    times = looks(cron(LAST_CRON_TIME=last, NEXT_CRON_TIME=following), NOW + 10 * HOUR)
    assert 10 <= len(times) <= 11
    assert times[0] <= NOW + HOUR * 1.2
    assert all(HOUR * 0.8 <= after - before <= HOUR * 1.2 for before, after in pairwise(times[1:]))


def test_times_that_somebody_wrote_keep_no_source_that_was_silent_from_being_asked() -> None:
    for written in (*WRITTEN, ""):
        silent = cron("", UNREACHABLE_SINCE=written or "then", LAST_CRON_TIME=timestamp(NOW), NEXT_CRON_TIME=written)
        assert looks(silent, NOW + HOUR)
        told = failed(silent, ImageFault("a", "Unreachable", "nothing listens there"), NOW)
        assert told[names.UNREACHABLE_SINCE] == timestamp(NOW)


def test_a_clock_that_is_put_back_after_a_look_makes_none_twice() -> None:
    look = looks(cron(LAST_CRON_TIME=timestamp(NOW)), NOW + 2 * HOUR)[0]
    asked = with_notes(cron(), answered(cron(), Version(DIGEST, "latest"), look))
    for back in (1.0, 30.0, 1800.0):
        due = due_at(asked, look - back)
        assert due is not None
        assert due > look + HOUR * 0.8
    # By more than clocks differ: once, and then by the schedule.
    assert due_at(asked, look - 2 * HOUR) == look - 2 * HOUR


def test_the_cures_are_those_of_a_cron_and_long_words_of_servers_are_cut() -> None:
    fault = ImageFault("a", "Unauthorized", LOG_IN + "x" * 999)
    why = failed(cron(), fault, NOW)[names.UNREACHABLE_WHY] or ""
    assert "name a Secret that it accepts in secretRef" in why
    assert len(why) == 500
