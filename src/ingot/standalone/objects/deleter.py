"""Deleting: at once, or by a mark that finalizers and the garbage collector work off."""

import asyncio

from ingot.api.object import Object, name_of
from ingot.api.status import forbidden, not_found
from ingot.standalone.objects import intake, reader
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.deletion import Options, check_preconditions
from ingot.standalone.objects.world import World
from ingot.standalone.schema.custom import terminating
from ingot.standalone.store.history import Entry

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
DEFAULT_POD_GRACE = 30
CUSTOM_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
# Kinds whose deletion begins with work of the server's own.
CLEANUP = {"customresourcedefinitions.apiextensions.k8s.io": CUSTOM_CLEANUP}
IMMORTAL = (("namespaces", "default"), ("namespaces", "kube-system"), ("namespaces", "kube-public"))


def _ending_namespace(namespace: Object) -> Object:
    return {**namespace.get("status", {}), "phase": "Terminating"}


def _ending_definition(crd: Object) -> Object:
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    return terminating(crd, True, "InstanceDeletionPending", message)


# Kinds that are emptied rather than given a time to go in, each with the status that says so.
EMPTIED = {
    "namespaces": _ending_namespace,
    "customresourcedefinitions.apiextensions.k8s.io": _ending_definition,
}


async def delete(world: World, call: Call, chosen: Options) -> Object:
    """Deletes the object or marks it; returns what the API answers: the object, or a Status when it is gone."""
    definition = call.served.definition
    if (definition.key, call.name) in IMMORTAL:
        raise forbidden(definition.group, definition.plural, call.name, "this namespace may not be deleted")
    entry = world.store.latest(definition.key, call.namespace, call.name)
    if entry is None:
        raise not_found(definition.group, definition.plural, call.name)
    obj, gone = await delete_entry(world, call, entry, chosen)
    return obj if definition.returns_deleted or not gone else _success(call, obj)


async def delete_entry(world: World, call: Call, entry: Entry, chosen: Options) -> tuple[Object, bool]:
    """Deletes one object; returns it as it was last and whether it is gone."""
    served, definition = call.served, call.served.definition
    old = served.read(entry)
    check_preconditions(call, old, chosen)
    new = served.read(entry)
    grace = _grace(definition.key, old, chosen)
    _mark(call, new, grace, chosen.policy)
    if not _held(definition.key, new, grace):
        if not chosen.dry_run:
            new["metadata"]["resourceVersion"] = str(
                await world.store.remove(definition.key, entry.namespace, entry.name)
            )
        return old if chosen.dry_run else _deleted(old, new), True
    if new == old or chosen.dry_run:
        await world.store.settled()
        return new, False
    stored = intake.in_front(served.to_storage(new))
    return served.read(await world.store.put(definition.key, entry.namespace, entry.name, stored)), False


def _deleted(old: Object, new: Object) -> Object:
    """The object as the answer to its own deletion shows it."""
    return new if "deletionTimestamp" in old["metadata"] else {**old, "metadata": {**old["metadata"]}}


def _grace(key: str, obj: Object, chosen: Options) -> int:
    """Seconds until the object goes by itself: only a pod that runs somewhere has any."""
    phase = obj.get("status", {}).get("phase")
    spec = obj.get("spec", {})
    if key != "pods" or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if chosen.grace is not None:
        return chosen.grace
    return int(spec.get("terminationGracePeriodSeconds", DEFAULT_POD_GRACE))


def _mark(call: Call, obj: Object, grace: int, policy: str) -> None:
    meta = obj["metadata"]
    finalizers = [name for name in meta.get("finalizers", ()) if not policy or name not in (FOREGROUND, ORPHAN)]
    if policy in ("Foreground", "Orphan"):
        finalizers.append(FOREGROUND if policy == "Foreground" else ORPHAN)
    cleanup = CLEANUP.get(call.served.definition.key)
    if cleanup and "deletionTimestamp" not in meta and cleanup not in finalizers:
        finalizers.append(cleanup)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    if "deletionTimestamp" in meta:
        if meta.get("deletionGracePeriodSeconds"):
            meta["deletionGracePeriodSeconds"] = min(meta["deletionGracePeriodSeconds"], grace)
        return
    meta["deletionTimestamp"] = call.timestamp
    if empty := EMPTIED.get(call.served.definition.key):
        obj["status"] = empty(obj)
        return
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1


def _held(key: str, obj: Object, grace: int) -> bool:
    if obj["metadata"].get("finalizers") or grace:
        return True
    return key == "namespaces" and bool(obj.get("spec", {}).get("finalizers"))


def _success(call: Call, obj: Object) -> Object:
    definition = call.served.definition
    details: Object = {"name": name_of(obj)}
    if definition.group:
        details["group"] = definition.group
    details["kind"] = definition.plural
    details["uid"] = obj["metadata"]["uid"]
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


async def delete_collection(world: World, call: Call, chosen: Options) -> reader.Listing:
    """Deletes what the call's selectors match and returns it as it was."""
    listing = reader.list_entries(world.store, call)
    matches = reader.select(call)

    async def delete_found(found: Entry) -> None:
        # Read in the task that writes, and judged again: others write between the list and this moment.
        entry = world.store.latest(call.served.definition.key, found.namespace, found.name)
        if entry and (matches is None or matches(call.served.read(entry))):
            await delete_entry(world, call, entry, chosen)

    # All at once: they then share commits.
    await asyncio.gather(*(delete_found(found) for found in listing.entries))
    return listing
