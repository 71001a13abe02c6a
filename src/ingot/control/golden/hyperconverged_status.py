"""What a HyperConverged's status says, out of its SSP and the crons that came of its templates."""

from collections.abc import Sequence

from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, name_of
from ingot.api.ssp.ssp import TEMPLATES, place_of
from ingot.control.golden import belonging
from ingot.control.golden.boot_images import BootImage
from ingot.control.golden.rivals import Rivals
from ingot.control.golden.ssp_status import AVAILABLE, DEGRADED, DEPLOYED, PROGRESSING
from ingot.kube.cache import Key, key_of
from ingot.kube.objects import condition, copy_of, is_deleting, is_true, set_condition

RECONCILED, UPGRADEABLE = "ReconcileComplete", "Upgradeable"
IS_DEPLOYED = "Deployed"


def write(told: Object, images: Sequence[BootImage], ssp: Object, rivals: Rivals, now: float) -> None:
    """Bring the status up to what was handed on, and to how the SSP fares with it."""
    status = told.setdefault("status", {})
    status["observedGeneration"] = told["metadata"]["generation"]
    known = {place_of(each): each for each in status.get(TEMPLATES) or ()}
    listed = [_entry(image, known.get(place_of(image.template)), ssp, rivals, now) for image in images]
    if listed:
        status[TEMPLATES] = listed
    else:
        status.pop(TEMPLATES, None)
    _conditions(told, ssp, now)


def refused(told: Object, message: str, now: float) -> None:
    """What it says cannot be handed on."""
    told.setdefault("status", {})["observedGeneration"] = told["metadata"]["generation"]
    for kind, status in ((RECONCILED, False), (AVAILABLE, False), (PROGRESSING, False), (DEGRADED, True)):
        set_condition(told, kind, status, "Refused", message, now)


def _entry(image: BootImage, known: Object | None, ssp: Object, rivals: Rivals, now: float) -> Object:
    """A template as the status lists it."""
    state: Object = {"commonTemplate": image.common}
    if image.modified:
        state["modified"] = True
    state["conditions"] = copy_of((known or {}).get("status") or {}).get("conditions") or []
    entry = {**image.template, "status": state}
    set_condition(entry, IS_DEPLOYED, *_deployment(image.template, ssp, rivals), now)
    return entry


def _deployment(template: Object, ssp: Object, rivals: Rivals) -> tuple[bool, str, str]:
    key = Key(*place_of(template))
    cron = rivals.crons.get(key)
    if cron is not None and not belonging.is_of(cron, ssp):
        message = f"DataImportCron {key} is somebody else's: delete it, or give this template another name"
        return False, "ForeignCron", message
    if cron is not None and is_deleting(cron):
        return False, "Deploying", f"DataImportCron {key} is about to go; if it is still asked for, it is made anew"
    if cron is not None:
        return True, "Deployed", f"DataImportCron {key} is there"
    if not _is_up_to_date(ssp):
        return False, "Deploying", f"SSP {name_of(ssp)} has not made DataImportCron {key} yet"
    source = Key(key.namespace, template["spec"]["managedDataSource"])
    manager = rivals.oldest(source)
    if manager is not None and not belonging.is_of(manager, ssp):
        cure = "delete it, or give this template another managedDataSource"
        return False, "ForeignCron", f"DataImportCron {key_of(manager)} manages DataSource {source}: {cure}"
    message = (
        f"DataSource {source} is somebody's own image, and left alone: label it {IMPORT_CRON}=true to "
        "have it follow this template"
    )
    return False, "UserImage", message


def _is_up_to_date(ssp: Object) -> bool:
    status = ssp.get("status") or {}
    is_new = status.get("observedGeneration") == ssp["metadata"].get("generation")
    return bool(is_new and status.get("phase") == DEPLOYED)


def _conditions(told: Object, ssp: Object, now: float) -> None:
    ready = _is_up_to_date(ssp)
    degraded = is_true(ssp, DEGRADED)
    said = (condition(ssp, DEGRADED) or {}).get("message", "") if degraded else ""
    waiting = said or (f"SSP {name_of(ssp)} is at work" if not ready else "")
    reason = "SSPDegraded" if degraded else "SSPProgressing" if waiting else "ReconcileCompleted"
    message = waiting or "Reconcile completed successfully"
    set_condition(told, RECONCILED, True, "ReconcileCompleted", "The SSP says what it is to say", now)
    set_condition(told, AVAILABLE, not waiting, reason, message, now)
    set_condition(told, PROGRESSING, bool(waiting) and not degraded, reason, message, now)
    set_condition(told, DEGRADED, degraded, reason, message, now)
    set_condition(told, UPGRADEABLE, True, "ReconcileCompleted", "Nothing speaks against another version", now)
