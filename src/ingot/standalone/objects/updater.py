"""Changing an object: the one way that replace, patch, apply and every subresource go."""

from collections.abc import Callable

from ingot.api import registry
from ingot.api.object import Object, name_of
from ingot.api.status import MODIFIED, ApiError, conflict, invalid, not_found
from ingot.standalone import fields
from ingot.standalone.builtin import admission
from ingot.standalone.goprint import Shown, quote
from ingot.standalone.objects import creator, intake
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.world import World
from ingot.standalone.patch import entries
from ingot.standalone.patch.values import copy
from ingot.standalone.store.history import Entry

# From the object as it is to the object as it should be; the argument is the function's to keep or to change.
Make = Callable[[Object], Object]

# What only the server may set; a client's value is replaced by what is stored.
SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")


async def replace(world: World, call: Call, obj: Object) -> tuple[Object, bool]:
    """Puts `obj` in place of what is there. Returns the result and whether it was created."""
    definition = call.served.definition
    intake.place(call, obj)
    found = world.store.latest(definition.key, call.namespace, call.name)
    if found is None and definition.create_on_update and not call.subresource:
        obj["metadata"].pop("resourceVersion", None)
        return await creator.insert(world, call, obj, managed=None), True
    return await change(world, call, lambda _: obj), False


async def change(world: World, call: Call, make: Make, apply: bool = False) -> Object:
    """Makes the new object from the newest one and stores it, unless nothing has changed.

    `apply` says that `make` has seen to the managed fields itself. Nothing is awaited between reading and writing,
    so a change never races another.
    """
    served, definition = call.served, call.served.definition
    entry = world.store.latest(definition.key, call.namespace, call.name)
    if entry is None:
        raise not_found(definition.group, definition.plural, call.name)
    old = served.read(entry)
    new = make(copy(old))
    _check_preconditions(call, new, old)
    if not apply:
        intake.manage(new, served.fields(call.subresource).update(old, new, call.manager, call.timestamp))
    if definition.custom:
        new = registry.admit(new, old, "UPDATE")
    new = _prepare(call, new, old)
    if not definition.custom:
        admission.admit(definition.key, new, old, world.lookup)
    if _same(new, old):
        await world.store.settled()
        return old
    intake.check(call, new, old)
    world.guard(call, new, old)
    return await _store(world, call, new, entry)


async def _store(world: World, call: Call, new: Object, entry: Entry) -> Object:
    served, definition = call.served, call.served.definition
    if call.dry_run:
        return new
    if _is_finished(definition.key, new):
        # The answer keeps the version that the object had: as a resource it has no other any more.
        await world.store.remove(definition.key, entry.namespace, entry.name)
        return new
    stored = intake.in_front(served.to_storage(new))
    return served.read(await world.store.put(definition.key, entry.namespace, entry.name, stored))


def _check_preconditions(call: Call, new: Object, old: Object) -> None:
    definition, meta = call.served.definition, new.get("metadata", {})
    target = (definition.group, definition.plural, name_of(old))
    if (uid := meta.get("uid")) and uid != old["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
        raise conflict(*target, why)
    revision = meta.get("resourceVersion") or "0"
    if not revision.isdigit():
        raise ApiError(500, "", f"strconv.ParseUint: parsing {quote(revision)}: invalid syntax")
    if not int(revision):
        if definition.custom or not definition.unconditional_update:
            cause = fields.invalid("metadata.resourceVersion", Shown("0x0"), "must be specified for an update")
            raise invalid(definition.group, definition.plural, name_of(old), [cause])
    elif revision != old["metadata"]["resourceVersion"]:
        raise conflict(*target, MODIFIED)


def _prepare(call: Call, new: Object, old: Object) -> Object:
    """The new object with everything that this call may not change put back."""
    definition, meta = call.served.definition, new["metadata"]
    _check_mark(call, meta, old)
    meta["resourceVersion"] = old["metadata"]["resourceVersion"]
    for key in SYSTEM:
        if key in old["metadata"]:
            meta[key] = old["metadata"][key]
        else:
            meta.pop(key, None)
    if call.subresource == "status":
        new = _only_status(new, old, definition.custom)
    elif "status" in definition.subresources and call.subresource != "binding":
        _keep(new, old, "status")
        definition.settle(new)
    if definition.key == "namespaces" and call.subresource != "finalize":
        # Only the subresource may let a namespace go.
        _keep(new, old, "spec")
    definition.default(new)
    if definition.has_generation and _content(new) != _content(old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    return new


def _check_mark(call: Call, meta: Object, old: Object) -> None:
    """Only a deletion marks an object for deletion."""
    marked = meta.get("deletionTimestamp")
    if not marked or "deletionTimestamp" in old["metadata"]:
        return
    shown = Shown(str(marked).replace("T", " ").replace("Z", " +0000 UTC"))
    cause = fields.immutable("metadata.deletionTimestamp", shown)
    raise invalid(call.served.definition.group, call.served.definition.kind, name_of(old), [cause])


def _only_status(new: Object, old: Object, custom: bool) -> Object:
    made = dict(old)
    made["metadata"] = dict(old["metadata"])
    _keep(made["metadata"], new["metadata"], "managedFields")
    if not custom:
        # Kubernetes lets the writer of a status set labels, annotations and finalizers with it.
        made["metadata"] = new["metadata"]
        _keep(made["metadata"], old["metadata"], "ownerReferences")
    _keep(made, new, "status")
    return made


def _keep(target: Object, source: Object, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


def _content(obj: Object) -> Object:
    """What generation counts changes of."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "status", "apiVersion", "kind")}


def _same(new: Object, old: Object) -> bool:
    """Whether nothing has changed but times in the managed fields."""
    return new == old or entries.keep_times(new, old) == old


def _is_finished(key: str, obj: Object) -> bool:
    """Whether an object on its way out has nothing left that holds it."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return key != "namespaces" or not obj.get("spec", {}).get("finalizers")
