"""Creating an object."""

from ingot.api import registry
from ingot.api.object import Object, name_of
from ingot.api.status import ApiError, already_exists
from ingot.standalone.builtin import admission
from ingot.standalone.objects import intake
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.world import World

# Kinds whose creator may bring a status along, although it has a subresource for it.
STATUS_ON_CREATE = ("nodes",)


async def create(world: World, call: Call, obj: Object) -> Object:
    """Stores a new object and returns it, durable, in the call's version. `obj` has gone through `intake.take`."""
    intake.place(call, obj)
    return await insert(world, call, obj, managed=None)


async def insert(world: World, call: Call, obj: Object, managed: list[Object] | None) -> Object:
    """Creates; `managed` are the managed fields where server-side apply has made them, None to make them here."""
    served, definition = call.served, call.served.definition
    revision = obj["metadata"].get("resourceVersion")
    intake.wipe(obj)
    if managed is None:
        managed = served.fields(call.subresource).update(None, obj, call.manager, call.timestamp)
    if definition.custom:
        # After the above: what admission fills in or rewrites is nobody's, as on a cluster.
        obj = registry.admit(obj, None, "CREATE")
    meta = obj["metadata"]
    intake.baptize(obj)
    meta["creationTimestamp"] = call.timestamp
    intake.manage(obj, managed)
    world.check_namespace(call, name_of(obj))
    if "status" in definition.subresources and definition.key not in STATUS_ON_CREATE:
        obj.pop("status", None)
        definition.default(obj)
    if not definition.custom:
        admission.admit(definition.key, obj, None, world.lookup)
    if definition.first_generation:
        meta["generation"] = definition.first_generation
    intake.check(call, obj, None)
    world.guard(call, obj, None)
    name = name_of(obj)
    if revision and not call.dry_run and revision.isdigit() and int(revision):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    if world.store.latest(definition.key, call.namespace, name) is not None:
        raise already_exists(definition.group, definition.plural, name)
    if call.dry_run:
        return obj
    entry = await world.store.put(definition.key, call.namespace, name, intake.in_front(served.to_storage(obj)))
    return served.read(entry)
