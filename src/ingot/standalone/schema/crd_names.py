"""Which names a CustomResourceDefinition may have, among the kinds that are there."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from ingot.api.object import Object
from ingot.standalone import times
from ingot.standalone.goprint import quote
from ingot.standalone.resources.definition import Definition


def established(crd: Object, others: Iterable[Definition] = (), now: datetime | None = None) -> Object:
    """The status of a CRD once its names are compared with those of other kinds in its group.

    A name that another kind has is not accepted; one that was accepted before stays accepted. Once established, a CRD
    stays so. Times change only where a condition does.
    """
    status = crd.get("status") or {}
    taken = [other for other in others if other.group == crd["spec"]["group"]]
    accepted, naming = _accept(crd["spec"]["names"], status.get("acceptedNames") or {}, taken)
    before = {condition["type"]: condition for condition in status.get("conditions") or ()}
    fulfilled = _establish(naming, before.get("Established"))
    moment = times.written(now or datetime.now(UTC))
    conditions = {
        **before,
        "NamesAccepted": _dated(naming, before.get("NamesAccepted"), moment),
        "Established": _dated(fulfilled, before.get("Established"), moment),
    }
    stored = list(status.get("storedVersions") or ())
    storage = [version["name"] for version in crd["spec"]["versions"] if version.get("storage")]
    return {
        **status,
        "conditions": list(conditions.values()),
        "acceptedNames": accepted,
        "storedVersions": stored + [name for name in storage if name not in stored],
    }


def terminating(crd: Object, still: bool, reason: str, message: str, now: datetime | None = None) -> Object:
    """The status of a CRD on its way out; `still` says that its objects are yet to go."""
    status = crd.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    moment = times.written(now or datetime.now(UTC))
    going = _condition("Terminating", still, reason, message)
    conditions["Terminating"] = _dated(going, conditions.get("Terminating"), moment)
    return {**status, "conditions": list(conditions.values())}


def _accept(wanted: Object, before: Object, taken: list[Definition]) -> tuple[Object, Object]:
    """(accepted names, the NamesAccepted condition). Of several conflicts the last one is told."""
    resources = {name for other in taken for name in (other.plural, other.singular, *other.short_names)}
    kinds = {name for other in taken for name in (other.kind, other.list_kind or f"{other.kind}List")}
    accepted: Object = {"plural": "", "kind": "", **before}
    condition = _condition("NamesAccepted", True, "NoConflicts", "no conflicts found")
    for key, reason, used in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        conflicts = _conflicts(wanted.get(key), before.get(key), used)
        if conflicts:
            told = conflicts[0] if len(conflicts) == 1 else f"[{', '.join(dict.fromkeys(conflicts))}]"
            condition = _condition("NamesAccepted", False, reason, told)
        elif wanted.get(key):
            accepted[key] = wanted[key]
        else:
            accepted.pop(key, None)
    accepted.pop("categories", None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return accepted, condition


def _conflicts(wanted: Any, before: Any, used: set[str]) -> list[str]:
    names = wanted if isinstance(wanted, list) else [wanted or ""]
    own = before if isinstance(before, list) else [before or ""]
    return [f"{quote(name)} is already in use" for name in names if name not in own and name in used]


def _establish(naming: Object, before: Object | None) -> Object:
    if before is not None and before["status"] == "True":
        return before
    if naming["status"] == "True":
        return _condition("Established", True, "InitialNamesAccepted", "the initial names have been accepted")
    return before or _condition("Established", False, "NotAccepted", "not all names are accepted")


def _condition(kind: str, status: bool, reason: str, message: str) -> Object:
    return {"type": kind, "status": "True" if status else "False", "reason": reason, "message": message}


def _dated(condition: Object, before: Object | None, moment: str) -> Object:
    same = before is not None and before["status"] == condition["status"]
    time = before.get("lastTransitionTime", moment) if before is not None and same else moment
    order = ("type", "status", "lastTransitionTime", "reason", "message")
    dated = {**condition, "lastTransitionTime": time}
    return {key: dated[key] for key in order}
