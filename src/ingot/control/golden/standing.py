"""How a cron stands: its status, with the conditions UpToDate and Progressing in the seed's words."""

from dataclasses import dataclass

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.control.golden.imports import Import
from ingot.control.golden.links import is_kept_from, target_of
from ingot.control.golden.reading import schedule_of
from ingot.control.golden.wanted import Wanted, bad_pin, pinned_to, short
from ingot.control.heartbeat import set_condition
from ingot.control.volumes.marks import annotation, phase_of
from ingot.images.registry.address import public
from ingot.kube.objects import condition, copy_of, is_true

UP_TO_DATE, PROGRESSING = "UpToDate", "Progressing"
IMPORT_FAILED = "ImportFailed"
# The source is of a kind that Ingot does not know.
NOT_DELIVERED = "SourceNotDelivered"
# Somebody has taken the DataSource out of the cron's hands, and wants it so.
UNMANAGED = "Unmanaged"
# It is deleted, and something keeps it from going.
DELETING = "Deleting"
_STREAM = (
    "spec.template.spec.source.registry.imageStream is not delivered by Ingot: make the cron anew with the image "
    "itself in registry.url"
)
# Somebody has pinned it to what is no digest.
BAD_PIN = "BadPin"
_LONGEST_PIN = 160
_NOTHING_UNDER_WAY = "No import job in progress."


@dataclass(frozen=True, slots=True)
class Seen:
    """What the controller knows of a cron. `rival` is the cron that has its DataSource, where that is not this one.
    `fault` is why the wanted import cannot be made."""

    wanted: Wanted
    imports: list[Import]
    link: Object | None
    rival: Object | None = None
    fault: str = ""

    @property
    def current(self) -> Import | None:
        """The import that the DataSource stands for."""
        return next((each for each in self.imports if each.key == target_of(self.link)), None)

    @property
    def changes_class(self) -> bool:
        """Whether it stands for the wanted version, though in another StorageClass than is wanted by now."""
        found = self.current
        return found is not None and found.digest == self.wanted.digest and not self.wanted.is_met_by(found)

    @property
    def under_way(self) -> list[Import]:
        return [each for each in self.imports if each.is_under_way]


def told(cron: Object, seen: Seen, now: float) -> Object:
    """The cron with its status up to what was seen."""
    found = copy_of(cron)
    status = found.setdefault("status", {})
    status["sourceFormat"] = "pvc"
    status["currentImports"] = [{"DataVolumeName": each.name, "Digest": each.digest} for each in seen.under_way]
    if asked := annotation(cron, names.LAST_CRON_TIME):
        status["lastExecutionTimestamp"] = asked
    if seen.current is not None and seen.current.is_ready:
        imported = {"namespace": seen.current.key.namespace, "name": seen.current.name}
        if status.get("lastImportedPVC") != imported:
            status |= {"lastImportedPVC": imported, "lastImportTimestamp": seen.current.settled}
    set_condition(found, UP_TO_DATE, *_up_to_date(cron, seen), now)
    set_condition(found, PROGRESSING, *_progressing(seen), now)
    return found


def leaving(cron: Object, why: str, now: float) -> Object:
    """The cron with its status while it is deleted and cannot go yet."""
    found = copy_of(cron)
    set_condition(found, UP_TO_DATE, "False", DELETING, why, now)
    set_condition(found, PROGRESSING, "False", "NoImport", _NOTHING_UNDER_WAY, now)
    return found


def _progressing(seen: Seen) -> tuple[str, str, str]:
    if not seen.under_way:
        return "False", "NoImport", _NOTHING_UNDER_WAY
    found = seen.under_way[0]
    if found.is_stuck:
        return "True", phase_of(found.any) or "Pending", f'DataVolume "{found.name}": {found.trouble}'
    message = f'version {_named(found)} is being imported into DataVolume "{found.name}"'
    return "True", "ImportProgressing", message


def _up_to_date(cron: Object, seen: Seen) -> tuple[str, str, str]:
    if seen.rival is not None:
        return "False", "Conflict", _conflict(cron, seen.rival)
    if seen.link is not None and is_kept_from(seen.link, cron):
        return "False", UNMANAGED, _kept_from(cron)
    if not is_delivered(cron):
        return "False", NOT_DELIVERED, f"{_STREAM}; {_serving(cron, seen)}"
    if seen.fault:
        return "False", IMPORT_FAILED, f"no version can be imported: {seen.fault}; {_serving(cron, seen)}"
    if bad_pin(cron):
        return "False", BAD_PIN, _bad_pin(cron, seen)
    if annotation(cron, names.UNREACHABLE_SINCE):
        return "False", "Unreachable", _unreachable(cron, seen)
    if not seen.wanted.newest:
        return "False", "NoImport", _never_asked(cron)
    if pinned_to(cron) and not seen.wanted.is_newest:
        return "False", "Pinned", _pinned(cron, seen)
    if seen.current is not None and seen.current.is_ready and seen.wanted.is_met_by(seen.current):
        message = f"{_link(cron)} stands for the newest version, {_named(seen.current)}"
        return "True", "UpToDate", f"{message}{_next(cron)}"
    return "False", *_behind(cron, seen)


def _behind(cron: Object, seen: Seen) -> tuple[str, str]:
    newest = f"{seen.wanted.name or 'version'} ({short(seen.wanted.newest)})"
    where = f' into StorageClass "{seen.wanted.storage_class}", where it is to be by now' if seen.changes_class else ""
    met = next((each for each in seen.imports if seen.wanted.is_met_by(each)), None)
    if met is not None and met.has_failed:
        why = f'the import of {newest} into DataVolume "{met.name}" has failed: {met.trouble}'
        return IMPORT_FAILED, f"{why}; {_serving(cron, seen)}, and it is tried again{_next(cron, '')}"
    if seen.under_way:
        stuck = next((f", which does not get on: {each.trouble}" for each in seen.under_way if each.is_stuck), "")
        message = f"{newest} is being imported{where}{stuck}; until that is complete {_serving(cron, seen)}"
        return "ImportProgressing", message
    if met is not None and met.has_been_complete:
        why = met.trouble or f"its phase is {phase_of(met.any) or 'unknown'}"
        return (
            "Outdated",
            f'{newest} was imported into "{met.name}", and is not complete: {why}; {_serving(cron, seen)}',
        )
    if seen.current is None:
        return "NoImport", f"{newest} is about to be imported; {_serving(cron, seen)}"
    return "Outdated", f"{newest} is about to be imported{where}; {_serving(cron, seen)}"


def _conflict(cron: Object, rival: Object) -> str:
    return (
        f'spec.managedDataSource: {_link(cron)} belongs to DataImportCron "{name_of(rival)}", which is older: this one '
        "does nothing until that is deleted; delete it, or make this one anew with another managedDataSource"
    )


def _kept_from(cron: Object) -> str:
    return (
        f"{_link(cron)} has lost the label {names.IMPORT_CRON}: somebody keeps it, and this cron does nothing until it "
        f"has the label {names.IMPORT_CRON}: {name_of(cron)} again, or is deleted"
    )


def _unreachable(cron: Object, seen: Seen) -> str:
    # It is named once.
    why = annotation(cron, names.UNREACHABLE_WHY).removeprefix(f"{source_of(cron).removeprefix('docker://')}: ")
    since = annotation(cron, names.UNREACHABLE_SINCE)
    again = _next(cron, "; asked again")
    return f"Unable to reach {source_of(cron)} since {since}: {why}{again}; {_serving(cron, seen)}"


def _never_asked(cron: Object) -> str:
    if schedule_of(cron) is None:
        what = "names no time" if cron["spec"].get("schedule") else "is empty"
        return f"spec.schedule {what}: {source_of(cron)} is asked when {names.CHECK_NOW} is set to another value"
    return f"{source_of(cron)} has not been asked yet: it is at once"


def _pinned(cron: Object, seen: Seen) -> str:
    pinned = short(seen.wanted.digest)
    newest = f"the newest is {seen.wanted.name} ({short(seen.wanted.newest)}), which follows when that is removed"
    if any(seen.wanted.is_met_by(each) and each.is_ready for each in seen.imports):
        return f"{names.PINNED} keeps {_link(cron)} at {pinned}; {newest}"
    kept = ", ".join(short(each.digest) for each in seen.imports if each.is_ready) or "none"
    message = f"{names.PINNED} names {pinned}, which is not kept (there is {kept}), so that {_serving(cron, seen)}"
    return f"{message}; {newest}"


def _bad_pin(cron: Object, seen: Seen) -> str:
    return (
        f'{names.PINNED}: "{bad_pin(cron)[:_LONGEST_PIN]}" is no digest, so that nothing is imported, and '
        f"{_serving(cron, seen)}: all of a digest is accepted, sha256: and its 64 hexadecimal digits; or take the "
        "annotation away"
    )


def _serving(cron: Object, seen: Seen) -> str:
    if seen.current is not None:
        if why := _not_ready(seen.current, seen.link):
            return f"{_link(cron)} points to {_named(seen.current)}, which cannot be cloned: {why}"
        where = f' in StorageClass "{seen.current.storage_class}"' if seen.changes_class else ""
        return f"{_link(cron)} goes on standing for {_named(seen.current)}{where}"
    target = target_of(seen.link)
    if seen.link is None or target is None:
        return f"{_link(cron)} points to nothing yet"
    verb = "stands for" if is_true(seen.link, "Ready") else "waits for"
    return f'{_link(cron)} {verb} claim "{target}"'


def _not_ready(current: Import, link: Object | None) -> str:
    """Why the version that the DataSource points to cannot be cloned; "" where it can, as far as is known."""
    told = condition(link or {}, "Ready") or {}
    # What a DataSource says of where it pointed before is of no interest.
    is_new = ((link or {}).get("status") or {}).get("source") == ((link or {}).get("spec") or {}).get("source")
    if is_new and told.get("status") == "False":
        return str(told.get("message") or told.get("reason"))
    return "" if current.is_ready else current.trouble or "it is not complete any more"


def _link(cron: Object) -> str:
    return f'DataSource "{cron["spec"]["managedDataSource"]}"'


def _named(found: Import) -> str:
    return f"{found.version} ({short(found.digest)})" if found.digest else f'"{found.name}"'


def _next(cron: Object, words: str = "; the next look is") -> str:
    at = annotation(cron, names.NEXT_CRON_TIME)
    return f"{words} at {at}" if at else ""


def is_delivered(cron: Object) -> bool:
    """Whether its source can be asked, and imported from."""
    return "imageStream" not in (cron["spec"]["template"]["spec"]["source"].get("registry") or {})


def source_of(cron: Object) -> str:
    """Where the versions come from, without what may be a credential."""
    source = cron["spec"]["template"]["spec"]["source"]
    given = source.get("registry") or source.get("http") or {}
    return public(str(given.get("url") or ""))
