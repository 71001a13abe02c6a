"""What is to be done for a cron, decided from what is there."""

from dataclasses import dataclass, field

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.golden.imports import Import
from ingot.control.golden.making import is_from
from ingot.control.golden.moments import moment
from ingot.control.golden.wanted import Wanted, pinned_to
from ingot.control.volumes.marks import annotation


@dataclass(frozen=True, slots=True)
class Plan:
    """`target` is where the DataSource is to stand; None: where it is. `begin`: the wanted version is to be imported.
    `drop` are imports that are of no use, and go when nobody waits for them. `anew` are those of the wanted version
    that never were complete, and go at once: they come back under their names, which is what is waited for."""

    target: Import | None = None
    begin: bool = False
    drop: list[Import] = field(default_factory=list)
    anew: list[Import] = field(default_factory=list)


def plan(cron: Object, wanted: Wanted, imports: list[Import]) -> Plan:
    """One import at a time: one that was begun is let finish, unless it is of no use, or gets nowhere."""
    met = [each for each in imports if wanted.is_met_by(each)]
    # Of a cron of before, which had another template.
    strays = [each for each in imports if each.is_unfinished and not is_from(cron, each)]
    others = [each for each in imports if each.is_unfinished and (each in strays or each not in met)]
    # Of one version in two classes, the one that was used last: it does not go to and fro.
    if ready := max((each for each in met if each.is_ready), key=lambda each: (each.last_use, each.name), default=None):
        return Plan(ready, drop=others)
    if not wanted.digest:
        return Plan(drop=strays)
    finished = None if pinned_to(cron) else _just_finished(cron, imports)
    if met:
        again = [each for each in met if each in strays or _is_to_be_tried_again(cron, each)]
        overtaken = [each for each in others if each not in met]
        # What has served, and has lost its volume since, is somebody's all the same.
        lost = [each for each in again if each.has_been_complete]
        return Plan(finished, drop=[*overtaken, *lost], anew=[each for each in again if each not in lost])
    under_way = [each for each in others if each.is_under_way and not each.is_stuck and each not in strays]
    if under_way:
        return Plan(finished, drop=[each for each in others if each not in under_way])
    # What is pinned is kept, or cannot be had: nobody knows where an older version is.
    return Plan(finished, begin=wanted.is_newest, drop=others)


def _just_finished(cron: Object, imports: list[Import]) -> Import | None:
    """The import that was under way when the status was last written, and is complete: though there is a newer version
    by now, it is newer than what serves. So images that change faster than they are imported get there too. Of a source
    that is followed no more it is not."""
    told = (cron.get("status") or {}).get("currentImports") or ()
    known = {str(each.get("DataVolumeName")) for each in told}
    new = (each for each in imports if each.name in known and each.is_ready and not each.has_served)
    return next((each for each in new if is_from(cron, each)), None)


def _is_to_be_tried_again(cron: Object, found: Import) -> bool:
    """Whether an import that has failed goes, to be made anew: once the source has been asked since, and answered."""
    if not found.has_failed or annotation(cron, names.UNREACHABLE_SINCE):
        return False
    failed, asked = moment(found.settled), moment(annotation(cron, names.LAST_CRON_TIME))
    # What has its volume was complete, and says otherwise because somebody has written so.
    return not found.has_volume and failed is not None and asked is not None and asked > failed
