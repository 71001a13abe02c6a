"""Instances and their owners: made for one, adopted by one, and gone before it is."""

from ingot.api.kubevirt.names import MACHINE_FINALIZER
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import INSTANCES
from ingot.api.status import ApiError
from ingot.control.fault import InstanceFault
from ingot.control.writing import change, delete, live
from ingot.kube.client import Client
from ingot.kube.objects import controller_of, has_finalizer, is_deleting, remove_finalizer, set_controller_reference

# How often what the server refuses is sent again: quotas become free without telling.
REFUSED_SECONDS = 10.0
# Of the sender, the place or the moment, and not of the object.
_PASSING_CODES = frozenset({401, 404, 409, 429})
# Of an owner that is deleted with `--cascade=orphan`: what it owns stays.
_ORPHAN = "orphan"


def is_owned(obj: Object, owner: Object) -> bool:
    return (controller_of(obj) or {}).get("uid") == uid_of(owner)


def is_passing(error: ApiError) -> bool:
    """Whether a refusal says nothing of the object, so that it is sent again without a word. Any other is told: what
    a webhook answers, whatever its code, may stay so until somebody changes something."""
    return error.code in _PASSING_CODES or (error.code >= 500 and "retryAfterSeconds" in (error.details or {}))


def refused(what: str, error: ApiError) -> InstanceFault:
    """The fault for an object that the server will not take as things are; raises an error that passes."""
    if is_passing(error):
        raise error
    message = f"{what} was refused: {error.message}; tried again in {REFUSED_SECONDS:g} s"
    return InstanceFault("FailedCreate", message, REFUSED_SECONDS)


def disown(instance: Object, owner: Object) -> None:
    """Make the instance no longer the owner's: it stays when that goes."""
    references = instance["metadata"].get("ownerReferences") or ()
    instance["metadata"]["ownerReferences"] = [each for each in references if each["uid"] != uid_of(owner)]


async def adopt(client: Client, owner: Object, instance: Object) -> Object:
    """The instance as the owner's, which it becomes if it is nobody's. InstanceFault if it is another's."""
    if is_owned(instance, owner):
        return instance
    holder = controller_of(instance)
    if holder is None and not is_deleting(instance):
        return await change(client, INSTANCES, instance, lambda each: set_controller_reference(each, owner))
    who = f"belongs to {holder['kind']} {holder['name']}" if holder else "is being deleted"
    message = f'VirtualMachineInstance "{name_of(instance)}" {who}: this one starts once that is gone'
    raise InstanceFault("FailedCreate", message)


async def make(client: Client, owner: Object, instance: Object) -> tuple[Object | None, bool]:
    """The instance, and whether it is new. Raises InstanceFault where the server or another owner forbids it."""
    try:
        return await client.create(INSTANCES, instance), True
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise refused("the instance", error) from error
    found = await live(client, INSTANCES, name_of(instance), namespace_of(instance))
    return (await adopt(client, owner, found) if found else None), False


async def let_go(client: Client, resource: Resource, owner: Object) -> tuple[Object | None, bool]:
    """The owner is being deleted: its instance first, unless that is to be left alone, then it.

    Returns the instance while that is there, and whether it was told to go just now.
    """
    instance = await live(client, INSTANCES, name_of(owner), namespace_of(owner))
    if instance is not None and is_owned(instance, owner) and has_finalizer(owner, _ORPHAN):
        # A garbage collector that has not heard of the instance yet would delete it later, as one without an owner.
        instance = await change(client, INSTANCES, instance, lambda each: disown(each, owner))
    if instance is None or not is_owned(instance, owner):
        await change(client, resource, owner, lambda each: remove_finalizer(each, MACHINE_FINALIZER))
        return None, False
    if is_deleting(instance):
        return instance, False
    # Of this very version: the garbage collector may just be making it an orphan.
    version = instance["metadata"]["resourceVersion"]
    return instance, await delete(client, INSTANCES, instance, resource_version=version)
