"""How often to look for a new version, as people say it, and as cron does."""

import re
import zlib

import click

from ingot.api.cdi.schedule import Schedule, ScheduleError

# What divides an hour, a day or a week: cron knows no other distance.
_MINUTES = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60)
_HOURS = (1, 2, 3, 4, 6, 8, 12, 24)
_FORMS = "1m to 30m and 1h to 12h where they divide an hour or a day, 1d and 1w"
TWICE_A_DAY = "12h"
_UNITS = {"m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}


def schedule_of(every: str, schedule: str, of: str) -> str:
    """The cron schedule for `every` (such as 12h), or `schedule` itself; "" for what was not said. Raises UsageError.

    At which minute and hour depends on the image `of`, and on nothing else: many images are not looked for at once, and
    the same words give the same schedule again.
    """
    if schedule and every:
        raise click.UsageError("--every and --schedule say the same in two ways: give one of them")
    if schedule:
        try:
            Schedule.parse(schedule)
        except ScheduleError as error:
            raise click.BadParameter(str(error), param_hint="--schedule") from error
        return schedule
    return _by_distance(every or TWICE_A_DAY, zlib.crc32(of.encode()))


def _by_distance(every: str, seed: int) -> str:
    found = re.fullmatch(r"(\d{1,5})([mhdw])", every.strip())
    distance = int(found[1]) * _UNITS[found[2]] if found else 0
    minute, hour, weekday = seed % 60, seed // 60 % 24, seed // 1440 % 7
    if distance in _MINUTES[:-1]:
        return "* * * * *" if distance == 1 else f"*/{distance} * * * *"
    hours, rest = divmod(distance, 60)
    if not rest and hours in _HOURS[:-1]:
        return f"{minute} * * * *" if hours == 1 else f"{minute} */{hours} * * *"
    if distance == _UNITS["d"]:
        return f"{minute} {hour} * * *"
    if distance == _UNITS["w"]:
        return f"{minute} {hour} * * {weekday}"
    raise click.BadParameter(
        f'"{every}" is none that cron can keep: {_FORMS}; or say it as cron does, with --schedule "0 */12 * * *"',
        param_hint="--every",
    )
