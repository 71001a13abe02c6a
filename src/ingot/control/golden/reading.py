"""Crons out of a cache, in today's form."""

from ingot.api.cdi.cronspec import normalise
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
