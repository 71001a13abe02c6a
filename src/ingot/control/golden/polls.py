"""Looking for new versions: when a cron's time has come, its source is asked, and the answer is written on the cron."""

import logging
from time import monotonic

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.control.golden import timetable
from ingot.control.golden.asking import ASKED_AT_ONCE, Asker
from ingot.control.golden.moments import moment, past
from ingot.control.golden.reading import read_cron, schedule_of
from ingot.control.golden.rivals import Rivals
from ingot.control.golden.standing import is_delivered
from ingot.control.golden.turns import Turns
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.wishes import configs_of, wishes_in
from ingot.images.fault import ImageFault
from ingot.images.registry.refusal import LOG_IN
from ingot.images.watching.version import Version
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock, timestamp
from ingot.kube.controller import Controller, Result
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

log = logging.getLogger(__name__)

# What the command line calls things, and what they are to those who write crons.
_CURES = (
    (LOG_IN, "name a Secret that it accepts in secretRef"),
    ("name its CA with --ca", "name a ConfigMap with its CA in certConfigMap"),
)
# How long our own answer may take to come back to us, and how soon we look again until then. The wire takes its time
# whatever the clock of the schedules says.
_ECHO_SECONDS, _SOON_SECONDS = 10.0, 0.1
# How many of a namespace are asked at once. Who waits for that looks again by itself too, should the next have gone.
_OF_ONE_NAMESPACE, _TURN_SECONDS = ASKED_AT_ONCE // 4, 30.0
_LONGEST_WHY = 500
# How often it is looked whether its time has come all the same: a machine that slept, or whose clock is put forward,
# has waited for less than it thinks.
_CLOCK_SECONDS = 600.0


class Polls:
    """The controller. All that it knows is on the cron, so that a restart neither forgets nor asks twice."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._crons = manager.informer(DATA_IMPORT_CRONS)
        self._rivals = Rivals(manager)
        configs = configs_of(manager)
        self._asker = Asker(manager.client, clock, lambda: wishes_in(configs.cache).insecure)
        # When we have asked for whom, until the cache knows it too.
        self._asked: dict[Key, tuple[str, str, float]] = {}
        # Answers that could not be written, with the generation of the cron that they are for: none is asked for twice.
        self._unwritten: dict[Key, tuple[str, int, dict[str, str | None]]] = {}
        controller = Controller("dataimportcron-poll", self.reconcile, workers=ASKED_AT_ONCE, clock=clock)
        self._turns = Turns(_OF_ONE_NAMESPACE, controller.queue.add)
        # Read, not followed: nobody is asked before they are full.
        controller.watch(configs, lambda _: ())
        manager.add(controller.watch(self._crons).watch(self._crons, self._rivals.of))

    async def reconcile(self, key: Key) -> Result | None:
        cron = read_cron(self._crons.cache, key)
        if cron is None or is_deleting(cron) or self._rivals.holder(cron) is not None:
            self._asked.pop(key, None)
            self._unwritten.pop(key, None)
            return None
        uid, generation, told = self._unwritten.pop(key, ("", 0, {}))
        if (uid, generation) == (uid_of(cron), cron["metadata"].get("generation")):
            await self._write(key, cron, told)
            return None
        now = self._clock.time()
        if self._is_late(key, cron):
            return Result(_SOON_SECONDS)
        due = due_at(cron, now)
        if due is None:
            return None
        if due > now:
            return Result(min(due - now, _CLOCK_SECONDS))
        if not self._turns.begin(key):
            return Result(_TURN_SECONDS)
        try:
            told = await self._ask(cron)
        finally:
            self._turns.end(key)
        await self._write(key, cron, told)
        return None

    def _is_late(self, key: Key, cron: Object) -> bool:
        """Whether what the cache has of the cron is older than our last answer."""
        uid, told, since = self._asked.get(key, ("", "", 0.0))
        if uid != uid_of(cron) or monotonic() - since > _ECHO_SECONDS:
            return False
        if annotation(cron, names.LAST_CRON_TIME) == told:
            self._asked.pop(key)
            return False
        return True

    async def _ask(self, cron: Object) -> dict[str, str | None]:
        """What is to be written on the cron; None for what is to go."""
        if not is_delivered(cron):
            return _times(cron, self._clock.time(), None)
        try:
            found = await self._asker.newest(cron)
        except ImageFault as fault:
            return failed(cron, fault, self._clock.time())
        return answered(cron, found, self._clock.time())

    async def _write(self, key: Key, cron: Object, told: dict[str, str | None]) -> None:
        patch = {"metadata": {"uid": uid_of(cron), "annotations": told}}
        self._unwritten[key] = uid_of(cron), cron["metadata"].get("generation", 0), told
        self._asked[key] = uid_of(cron), told[names.LAST_CRON_TIME] or "", monotonic()
        await self._client.patch(DATA_IMPORT_CRONS, name_of(cron), patch, namespace_of(cron))
        del self._unwritten[key]


def due_at(cron: Object, now: float) -> float | None:
    """When the source is to be asked; None for never, until somebody says so. A new cron does not wait for its time.

    Anybody may have written the times: none keeps a cron from its schedule, or a source that did not answer from being
    asked again. A last time that cannot be is none.
    """
    if annotation(cron, names.CHECK_NOW) != annotation(cron, names.CHECKED):
        return now
    if not is_delivered(cron):
        return None
    if schedule_of(cron) is None and not annotation(cron, names.UNREACHABLE_SINCE):
        return None
    # It may be a little ahead, where the clock was put back since: what was done then is not done again.
    last = past(annotation(cron, names.LAST_CRON_TIME), now)
    if last is None:
        return now
    # What is written has whole seconds: a look within that very second was this one.
    planned, latest = moment(annotation(cron, names.NEXT_CRON_TIME)), _latest(cron, last + 0.999)
    return latest if planned is None else min(planned, latest + 1.0)


def _latest(cron: Object, last: float) -> float:
    """When the source is asked again at the latest."""
    planned = _next_look(cron, last)
    return timetable.next_try(0.0, uid_of(cron), last) if planned is None else planned


def _next_look(cron: Object, now: float) -> float | None:
    schedule = schedule_of(cron)
    return None if schedule is None else timetable.next_look(schedule, uid_of(cron), now)


def answered(cron: Object, found: Version, now: float) -> dict[str, str | None]:
    """What an answer makes of the cron's annotations."""
    return {
        names.DESIRED_DIGEST: found.digest,
        names.NEWEST_VERSION: found.name,
        names.NEWEST_CHECKSUM: found.checksum or None,
        names.NEWEST_SIZE: found.size or None,
        names.TAGS_LISTED: "true" if found.listed else None,
        names.UNREACHABLE_SINCE: None,
        names.UNREACHABLE_WHY: None,
        **_times(cron, now, _next_look(cron, now)),
    }


def failed(cron: Object, fault: ImageFault, now: float) -> dict[str, str | None]:
    """What a source that does not answer makes of the cron's annotations. What was known before stays."""
    since = past(annotation(cron, names.UNREACHABLE_SINCE), now)
    since = now if since is None else since
    why = str(fault)
    for ours, theirs in _CURES:
        why = why.replace(ours, theirs)
    again, planned = timetable.next_try(since, uid_of(cron), now), _next_look(cron, now)
    if planned is not None:
        again = min(again, planned)
    return {
        names.UNREACHABLE_SINCE: timestamp(since),
        names.UNREACHABLE_WHY: why[:_LONGEST_WHY],
        **_times(cron, now, again),
    }


def _times(cron: Object, now: float, again: float | None) -> dict[str, str | None]:
    return {
        names.LAST_CRON_TIME: timestamp(now),
        names.NEXT_CRON_TIME: None if again is None else timestamp(again + 0.999),
        names.CHECKED: annotation(cron, names.CHECK_NOW) or None,
    }
