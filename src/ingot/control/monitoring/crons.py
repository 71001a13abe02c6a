"""How fresh golden images are, read off their DataImportCrons (G9)."""

from collections.abc import Callable, Iterable, Iterator

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_IMPORT_CRONS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.control.golden.imports import Import, Imports
from ingot.control.golden.moments import moment
from ingot.control.golden.standing import BAD_PIN, NOT_DELIVERED, UNMANAGED
from ingot.control.golden.wanted import pinned_to
from ingot.control.monitoring.family import Family, gauge
from ingot.control.monitoring.pending import waits_for_class
from ingot.control.volumes.marks import annotation
from ingot.kube.cache import key_of
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_deleting

# What the condition UpToDate gives as its reason. Anybody who may write a status could write another.
REASONS = (
    "UpToDate",
    "NoImport",
    "ImportProgressing",
    "Outdated",
    "Unreachable",
    "ImportFailed",
    "Conflict",
    "Pinned",
    BAD_PIN,
    NOT_DELIVERED,
    UNMANAGED,
)
# Whose source nobody asks, whatever was written before.
_NOT_ASKED = ("Conflict", NOT_DELIVERED)
_OTHER = "Other"
# CDI's labels: those of Prometheus' own targets have `namespace`.
_LABELS = ("ns", "cron_name")


def _reason(cron: Object) -> str:
    found = str((condition(cron, "UpToDate") or {}).get("reason") or "")
    return found if found in REASONS else _OTHER


def is_up_to_date(cron: Object, imports: Iterable[Import]) -> bool:
    """Whether its DataSource leads to what it should: one that is pinned to what is there, whether or not its source
    answers, or that was taken out of its hands, or has just been made, asks for no more."""
    told = condition(cron, "UpToDate")
    if told is None or told.get("status") == "True" or told.get("reason") == UNMANAGED:
        return True
    pinned = pinned_to(cron)
    stays = told.get("reason") in ("Pinned", "Unreachable") and pinned
    return bool(stays) and any(each.digest == pinned and each.is_ready for each in imports)


class CronFigures:
    """Of each DataImportCron: whether it is outdated, and when it looked, looks next, imported and was answered."""

    def __init__(self, manager: Manager) -> None:
        self._crons = manager.informer(DATA_IMPORT_CRONS)
        self._imports = Imports(manager)
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._classes = manager.informer(STORAGE_CLASSES)

    def families(self) -> Iterator[Family]:
        crons = [cron for cron in self._crons.cache.list() if not is_deleting(cron)]
        yield gauge(
            "kubevirt_cdi_dataimportcron_outdated",
            "DataImportCron has an outdated import; pending: that waits for a default StorageClass",
            (*_LABELS, "pending"),
            (((*_key(cron), self._pending(cron)), not self._is_up_to_date(cron)) for cron in crons),
        )
        yield gauge(
            "ingot_dataimportcron_up_to_date",
            "1 where the condition UpToDate is true, with the reason that it gives",
            (*_LABELS, "reason"),
            (
                ((*_key(cron), _reason(cron)), self._is_up_to_date(cron))
                for cron in crons
                if condition(cron, "UpToDate")
            ),
        )
        for name, doc, when in _MOMENTS:
            told = [cron for cron in crons if name not in _OF_ASKED or _reason(cron) not in _NOT_ASKED]
            found = ((_key(cron), moment(when(cron))) for cron in told)
            rows = ((key, seconds) for key, seconds in found if seconds is not None)
            yield gauge(f"ingot_dataimportcron_{name}_timestamp_seconds", doc, _LABELS, rows)

    def _is_up_to_date(self, cron: Object) -> bool:
        return is_up_to_date(cron, self._imports.of(key_of(cron)))

    def _pending(self, cron: Object) -> str:
        volumes = (each.volume for each in self._imports.of(key_of(cron)) if each.volume)
        waits = any(waits_for_class(each, self._claims.cache, self._classes.cache) for each in volumes)
        return "true" if waits else "false"


def _key(cron: Object) -> tuple[str, str]:
    return namespace_of(cron), name_of(cron)


def _annotated(name: str) -> Callable[[Object], str]:
    return lambda cron: annotation(cron, name)


def _last_import(cron: Object) -> str:
    return str((cron.get("status") or {}).get("lastImportTimestamp") or "")


_MOMENTS: tuple[tuple[str, str, Callable[[Object], str]], ...] = (
    ("last_poll", "When the source was last asked for a new version", _annotated(names.LAST_CRON_TIME)),
    ("next_poll", "When the source is to be asked next", _annotated(names.NEXT_CRON_TIME)),
    ("last_import", "When the last import was complete", _last_import),
    ("unreachable_since", "Since when the source does not answer", _annotated(names.UNREACHABLE_SINCE)),
)
# Those that are only true of a source that is asked.
_OF_ASKED = ("next_poll", "unreachable_since")
