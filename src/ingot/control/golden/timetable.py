"""When a DataImportCron looks for a new version: its schedule in UTC, a little later for each in its own way."""

import hashlib
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from itertools import count

from ingot.api.cdi.schedule import Schedule

# A tenth of the time between two looks, so that the schedule still is what people read; and no more than an hour, which
# spreads a thousand crons of twice a day to one in four seconds.
_HOUR = 3600.0
_SPREAD, _MOST_SPREAD = 0.1, _HOUR
# How soon a source that did not answer is asked again: after as long as it has been silent, within these bounds.
_SOONEST, _LATEST = 60.0, 1800.0


def following(schedule: Schedule, after: float) -> float:
    """The first minute of the schedule that comes after that moment. There is one: for a leap day that is to be one day
    of the week it may be forty years away."""
    days = _days(schedule, datetime.fromtimestamp(after, UTC).date())
    return next(moment for day in days for moment in _moments(schedule, day, after))


def _days(schedule: Schedule, first: date) -> Iterator[date]:
    """The days of the schedule from the first one on, in order."""
    for number in count(first.year * 12 + first.month - 1):
        year, month = number // 12, number % 12 + 1
        if month in schedule.months:
            days = (date(year, month, day) for day in range(1, monthrange(year, month)[1] + 1))
            yield from (day for day in days if day >= first and _has_day(schedule, day))


def _has_day(schedule: Schedule, day: date) -> bool:
    by_day, by_weekday = day.day in schedule.days, day.isoweekday() % 7 in schedule.weekdays
    if schedule.any_day or schedule.any_weekday:
        return by_day and by_weekday
    return by_day or by_weekday


def _moments(schedule: Schedule, day: date, after: float) -> Iterator[float]:
    midnight, minutes = datetime.combine(day, time(), UTC).timestamp(), sorted(schedule.minutes)
    for begin in (midnight + _HOUR * hour for hour in sorted(schedule.hours)):
        if begin + _HOUR > after:
            yield from (moment for minute in minutes if (moment := begin + 60.0 * minute) > after)


def next_look(schedule: Schedule, uid: str, now: float) -> float:
    """When the cron of that uid looks next. The same for every process that works it out."""
    base = now - _MOST_SPREAD
    while True:
        base = following(schedule, base)
        look = base + _share(uid) * min(_SPREAD * (following(schedule, base) - base), _MOST_SPREAD)
        if look > now:
            return look


def _share(uid: str) -> float:
    """A number from 0 to 1 that is the uid's own."""
    return int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8]) / 2**64


def next_try(silent_since: float, uid: str, now: float) -> float:
    """When a source is asked again that has not answered since then; by each cron at another time."""
    return now + min(max(now - silent_since, _SOONEST), _LATEST) * (1 + _share(uid) / 2)
