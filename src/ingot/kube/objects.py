"""What every controller does to objects: own them, hold their deletion, report conditions."""

from typing import Any

from ingot.api.object import Object, name_of, namespace_of, split_api_version, uid_of
from ingot.kube.cache import key_of
from ingot.kube.clock import timestamp


def copy_of(obj: Object) -> Object:
    """A deep copy, to be altered freely; several times as fast as copy.deepcopy on JSON."""
    return {key: _copied(value) for key, value in obj.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return copy_of(value)
    return [_copied(item) for item in value] if isinstance(value, list) else value


class AlreadyOwned(Exception):
    """An object has another controller: `obj` and the owner reference `owner` of that controller."""

    def __init__(self, obj: Object, owner: Object) -> None:
        super().__init__(f"{obj.get('kind')} {key_of(obj)} is controlled by {owner.get('kind')} {owner.get('name')}")
        self.obj = obj
        self.owner = owner


def controller_of(obj: Object) -> Object | None:
    """The owner reference of the one who made the object and answers for it."""
    for reference in obj.get("metadata", {}).get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def set_controller_reference(obj: Object, owner: Object) -> None:
    """Make `owner` the controller of `obj`: it is deleted with it, and its changes wake the owner's controller.

    Raises AlreadyOwned if another is; repeating the call changes nothing.
    """
    current = controller_of(obj)
    if current and current.get("uid") != uid_of(owner):
        raise AlreadyOwned(obj, current)
    _set_reference(obj, owner, {"controller": True, "blockOwnerDeletion": True})


def add_owner_reference(obj: Object, owner: Object) -> None:
    """Make `owner` one of those who keep `obj` alive, without answering for it."""
    _set_reference(obj, owner, {})


def _set_reference(obj: Object, owner: Object, flags: Object) -> None:
    if namespace_of(owner) and namespace_of(owner) != namespace_of(obj):
        # The garbage collector takes such an owner for missing, and deletes the object.
        raise ValueError(f"{key_of(owner)} cannot own {key_of(obj)}: it is in another namespace")
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        **flags,
    }
    references = obj.setdefault("metadata", {}).setdefault("ownerReferences", [])
    for index, known in enumerate(references):
        if known.get("uid") == reference["uid"]:
            references[index] = known | reference
            return
    references.append(reference)


def refers_to_kind(reference: Object, group: str, kind: str) -> bool:
    """Whether an owner reference is to that kind, in any version of its group."""
    return bool(reference.get("kind") == kind and split_api_version(reference.get("apiVersion", ""))[0] == group)


def is_deleting(obj: Object) -> bool:
    return bool(obj.get("metadata", {}).get("deletionTimestamp"))


def has_finalizer(obj: Object, finalizer: str) -> bool:
    return finalizer in (obj.get("metadata", {}).get("finalizers") or ())


def add_finalizer(obj: Object, finalizer: str) -> bool:
    """Hold the object's deletion until the finalizer is gone; whether that changed it."""
    if has_finalizer(obj, finalizer):
        return False
    obj.setdefault("metadata", {}).setdefault("finalizers", []).append(finalizer)
    return True


def remove_finalizer(obj: Object, finalizer: str) -> bool:
    """Let go; whether that changed the object."""
    if not has_finalizer(obj, finalizer):
        return False
    obj["metadata"]["finalizers"].remove(finalizer)
    return True


def condition(obj: Object, kind: str) -> Object | None:
    """The condition of that type, or None."""
    found = (entry for entry in obj.get("status", {}).get("conditions") or () if entry.get("type") == kind)
    return next(found, None)


def is_true(obj: Object, kind: str) -> bool:
    return (condition(obj, kind) or {}).get("status") == "True"


def set_condition(obj: Object, kind: str, status: bool | None, reason: str, message: str, now: float) -> bool:
    """Set a condition (None: Unknown) in `status.conditions`; whether that changed the object.

    `lastTransitionTime` becomes `now` only when the status changes, so that it says since when.
    """
    word = {True: "True", False: "False", None: "Unknown"}[status]
    known = condition(obj, kind)
    if known is None:
        known = {"type": kind}
        obj.setdefault("status", {}).setdefault("conditions", []).append(known)
    wanted = {"status": word, "reason": reason, "message": message}
    if generation := obj.get("metadata", {}).get("generation"):
        wanted["observedGeneration"] = generation
    if all(known.get(field) == value for field, value in wanted.items()):
        return False
    if known.get("status") != word:
        wanted["lastTransitionTime"] = timestamp(now)
    known.update(wanted)
    return True
