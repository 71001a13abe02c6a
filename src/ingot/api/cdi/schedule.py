"""Cron schedules: the five fields that say when a DataImportCron looks for a new image."""

from dataclasses import dataclass
from typing import Final

MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# February counts a leap year's days: a schedule on the 29th does run, if seldom.
_MONTH_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class ScheduleError(ValueError):
    """A schedule that no clock can follow: `text` is the schedule, `why` names the part that is wrong."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r}: {why}")
        self.text = text
        self.why = why


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()

    def values(self, expression: str) -> frozenset[int]:
        """The numbers that one comma-separated field selects; ValueError says what is wrong."""
        if not expression:
            raise ValueError(f"{self.name} is empty")
        chosen: set[int] = set()
        for part in expression.split(","):
            chosen.update(self._range(part))
        return frozenset(chosen)

    def _range(self, part: str) -> range:
        span, slash, step_text = part.partition("/")
        step = self._step(step_text) if slash else 1
        if span in ("*", "?"):
            return range(self.lowest, self.highest + 1, step)
        first_text, dash, last_text = span.partition("-")
        first = self._number(first_text)
        # "5/15" starts at 5 and goes on to the end of the field, as in every cron.
        last = self.highest if slash else first
        if dash:
            last = self._number(last_text)
        if last < first:
            raise ValueError(f"{self.name} has a range {span!r} that runs backwards")
        return range(first, last + 1, step)

    def _step(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) > 0):
            raise ValueError(f"{self.name} has a step {text!r} where a positive number is expected")
        return int(text)

    def _number(self, text: str) -> int:
        if text.lower() in self.names:
            return self.lowest + self.names.index(text.lower())
        if not (text.isascii() and text.isdigit()) or not self.lowest <= int(text) <= self.highest:
            accepted = f"{self.lowest} to {self.highest}"
            if self.names:
                accepted += f", or {self.names[0].upper()} to {self.names[-1].upper()}"
            raise ValueError(f"{self.name} has {text!r} where {accepted} is expected")
        return int(text)


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed schedule. `weekdays` counts from Sunday as 0.

    As in every cron, a day matches by `days` *or* by `weekdays` when both are restricted, and by the
    restricted one alone when the other is a star; `any_day` and `any_weekday` say which are stars.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @classmethod
    def parse(cls, text: str) -> "Schedule":
        """Reads five fields or one of the macros (`@daily`, …); raises ScheduleError."""
        expression = MACROS.get(text.strip().lower(), text)
        parts = expression.split()
        if text.strip().startswith(("TZ=", "CRON_TZ=")):
            raise ScheduleError(text, "a time zone cannot be chosen: leave it out, and say times in UTC")
        if text.strip().startswith("@") and len(parts) == 1:
            raise ScheduleError(text, f"no such macro; known are {', '.join(MACROS)}")
        if len(parts) != len(_FIELDS):
            expected = ", ".join(field.name for field in _FIELDS)
            raise ScheduleError(text, f"five fields are expected, not {len(parts)}: {expected}")
        try:
            minutes, hours, days, months, weekdays = (
                field.values(part) for field, part in zip(_FIELDS, parts, strict=True)
            )
        except ValueError as error:
            raise ScheduleError(text, str(error)) from None
        schedule = cls(
            minutes,
            hours,
            days,
            months,
            frozenset(day % 7 for day in weekdays),
            any_day=parts[2][0] in "*?",
            any_weekday=parts[4][0] in "*?",
        )
        if not schedule._ever():
            raise ScheduleError(text, "no month selected has the day of month selected, so it would never run")
        return schedule

    def _ever(self) -> bool:
        if not self.any_weekday:
            return True
        return min(self.days) <= max(_MONTH_DAYS[month - 1] for month in self.months)
