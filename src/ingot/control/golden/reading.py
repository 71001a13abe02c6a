"""Crons out of a cache, in today's form, and what those may say that were stored before there was admission."""

from ingot.api.cdi.cronspec import normalise
from ingot.api.cdi.schedule import Schedule, ScheduleError
from ingot.api.object import Object
from ingot.kube.cache import Cache, Key
from ingot.kube.objects import copy_of


def read_cron(crons: Cache, key: Key) -> Object | None:
    """The cron of that key. One that was stored before admission was there to rewrite it is rewritten here."""
    cron = crons.get(key)
    if cron is None or "template" in cron["spec"]:
        return cron
    read = copy_of(cron)
    normalise(read["spec"])
    return read


def schedule_of(cron: Object) -> Schedule | None:
    """When a cron looks by itself; None for never, as where it says what no clock can follow."""
    try:
        return Schedule.parse(cron["spec"].get("schedule") or "")
    except ScheduleError:
        return None
