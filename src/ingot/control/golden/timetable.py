"""When a DataImportCron looks for a new version: its schedule in UTC, a little later for each in its own way."""

import hashlib
from datetime import UTC, datetime, time, timedelta

from ingot.api.cdi.schedule import Schedule

# A tenth of the time between two looks, so that the schedule still is what people read; and no more than an hour, which
# spreads a thousand crons of twice a day to one in four seconds.
_SPREAD, _MOST_SPREAD = 0.1, 3600.0
# From one 29th of February to the next there are up to eight years.
_MOST_DAYS = 8 * 366 + 1
# How soon a source that did not answer is asked again: after as long as it has been silent, within these bounds.
_SOONEST, _LATEST = 60.0, 1800.0


def following(schedule: Schedule, after: float) -> float:
    """The first minute of the schedule that comes after that moment."""
    moment = datetime.fromtimestamp(after, UTC)
    hours, minutes = sorted(schedule.hours), sorted(schedule.minutes)
    for number in range(_MOST_DAYS):
        day = moment.date() + timedelta(days=number)
        if not _has_day(schedule, day.month, day.day, day.isoweekday() % 7):
            continue
        for hour in hours:
            if not number and hour < moment.hour:
                continue
            for minute in minutes:
                found = datetime.combine(day, time(hour, minute), UTC).timestamp()
                if found > after:
                    return found
    raise ValueError("the schedule names no day")


def _has_day(schedule: Schedule, month: int, day: int, weekday: int) -> bool:
    if month not in schedule.months:
        return False
    by_day, by_weekday = day in schedule.days, weekday in schedule.weekdays
    if schedule.any_day or schedule.any_weekday:
        return by_day and by_weekday
    return by_day or by_weekday


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
