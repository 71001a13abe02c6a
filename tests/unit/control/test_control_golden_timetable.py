"""When crons look: by their schedule in UTC, each a little later in its own way (G3)."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from ingot.api.cdi.schedule import Schedule, ScheduleError
from ingot.control.golden.timetable import following, next_look, next_try

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
pytestmark = pytest.mark.usefixtures("in_berlin")


def at(schedule: str, after: str) -> str:
    found = following(Schedule.parse(schedule), datetime.fromisoformat(after).timestamp())
    return datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%dT%H:%M")


@pytest.mark.parametrize(
    ("schedule", "after", "wanted"),
    [
        ("0 */12 * * *", "2026-01-01T00:00:00+00:00", "2026-01-01T12:00"),
        ("42 */12 * * *", "2026-01-01T12:42:00+00:00", "2026-01-02T00:42"),
        ("30 1 * * 1", "2026-01-01T00:00:00+00:00", "2026-01-05T01:30"),
        # Restricted both ways, a day counts by either.
        ("0 0 13 * 5", "2026-02-01T00:00:00+00:00", "2026-02-06T00:00"),
        ("0 0 29 2 *", "2026-03-01T00:00:00+00:00", "2028-02-29T00:00"),
        ("0 0 29 2 *", "2097-01-01T00:00:00+00:00", "2104-02-29T00:00"),
        # With a star in one of them it counts by both; 2100 is no leap year.
        ("0 0 29 2 */7", "2088-03-01T00:00:00+00:00", "2128-02-29T00:00"),
        ("0 0 */31 2 1", "2027-02-02T00:00:00+00:00", "2038-02-01T00:00"),
        ("@monthly", "2026-01-31T23:59:59+00:00", "2026-02-01T00:00"),
        # Where clocks change it is neither left out nor done twice: schedules are in UTC.
        ("30 2 * * *", "2026-03-29T00:00:00+01:00", "2026-03-29T02:30"),
        ("30 2 * * *", "2026-10-25T02:30:00+00:00", "2026-10-26T02:30"),
    ],
)
def test_the_schedule_is_followed(schedule: str, after: str, wanted: str) -> None:
    assert at(schedule, after) == wanted


def test_a_time_zone_is_refused_with_the_cure() -> None:
    with pytest.raises(ScheduleError, match="say times in UTC"):
        Schedule.parse("CRON_TZ=Europe/Berlin 0 3 * * *")


def test_a_thousand_crons_of_one_schedule_are_spread_over_an_hour() -> None:
    schedule = Schedule.parse("0 */12 * * *")
    looks = [next_look(schedule, f"uid-{number}", NOON - 1) for number in range(1000)]
    assert min(looks) >= NOON
    assert max(looks) < NOON + HOUR
    minutes = Counter(int(look - NOON) // 60 for look in looks)
    assert max(minutes.values()) < 40


def test_each_cron_has_its_own_time_that_stays() -> None:
    schedule, now = Schedule.parse("0 * * * *"), NOON
    first = next_look(schedule, "uid", now)
    assert next_look(schedule, "uid", first) == first + HOUR
    assert next_look(schedule, "uid", first - 1) == first
    # A tenth of the hour, so that the schedule still is what people read.
    assert first - NOON < HOUR * 1.1
    assert next_look(schedule, "another", now) != first


def test_a_source_that_is_silent_is_asked_ever_more_rarely_within_bounds() -> None:
    waits = [next_try(NOON, "uid", NOON + silent) - NOON - silent for silent in (0.0, 60.0, 600.0, 86400.0)]
    assert waits == sorted(waits)
    assert 60 <= waits[0] <= 90
    assert 1800 <= waits[-1] <= 2700
    assert next_try(NOON, "another", NOON) != next_try(NOON, "uid", NOON)
