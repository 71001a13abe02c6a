"""Claims that were there before their DataVolume: adopted where somebody has said so, else left alone."""

from ingot.api.cdi import names
from ingot.api.cdi.filling import has_failed, is_being_filled
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.owning import is_owned
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.marks import annotation, is_bound
from ingot.control.volumes.source import populator_of
from ingot.control.writing import change, delete
from ingot.kube.client import Client
from ingot.kube.objects import controller_of, is_deleting, refers_to_kind, set_controller_reference


def is_filled(volume: Object, claim: Object) -> bool:
    """Whether the claim has content that counts as the DataVolume's, though nobody filled it for that."""
    if not is_bound(claim) or is_being_filled(claim) or has_failed(claim):
        return False
    # A populator of ours says so when the volume is one that it has filled, and not one that happened to suit.
    told = populator_of(claim) is None or annotation(claim, names.POD_PHASE) == "Succeeded"
    return told and _may_take(volume, claim)


def _may_take(volume: Object, claim: Object) -> bool:
    """Whether a claim that was not made for the DataVolume may become its own, filled or not.

    It was restored from a backup and names the DataVolume, or the DataVolume says that it takes what is there.
    """
    if annotation(claim, names.POPULATED_FOR) == name_of(volume):
        return True
    return annotation(claim, names.CREATED_FOR) != uid_of(volume) and annotation(volume, names.ADOPT) == "true"


async def taken(client: Client, volume: Object, claim: Object) -> Object:
    """The claim as the DataVolume's own, which it becomes if it may. Raises VolumeFault where it may not."""
    if is_deleting(claim):
        message = f'PersistentVolumeClaim "{name_of(claim)}" is being deleted: it is made anew once it is gone'
        raise VolumeFault("ErrResourceMarkedForDeletion", message)
    if is_owned(claim, volume):
        return claim
    holder = controller_of(claim)
    if holder and refers_to_kind(holder, names.GROUP, DATA_VOLUMES.kind) and holder["name"] == name_of(volume):
        message = f'PersistentVolumeClaim "{name_of(claim)}" is of a DataVolume that is gone: it is made anew after it'
        raise VolumeFault("ErrResourceMarkedForDeletion", message)
    if not _may_take(volume, claim):
        message = (
            f'PersistentVolumeClaim "{name_of(claim)}" exists already and is not this DataVolume\'s: delete it, or let '
            f"the DataVolume take it as it is with the annotation {names.ADOPT}: true"
        )
        raise VolumeFault("ErrResourceExists", message)
    if holder:
        message = (
            f'PersistentVolumeClaim "{name_of(claim)}" belongs to {holder["kind"]} {holder["name"]}, and is adopted '
            "once it does not"
        )
        raise VolumeFault("ErrResourceExists", message)
    return await change(client, VOLUME_CLAIMS, claim, lambda each: set_controller_reference(each, volume))


async def remember(client: Client, volume: Object, claim: Object) -> Object:
    """The DataVolume, marked where its claim came from a backup: should that go, nothing is made in its place."""
    if annotation(claim, names.POPULATED_FOR) != name_of(volume) or not is_bound(claim):
        return volume

    def mark(each: Object) -> None:
        each["metadata"].setdefault("annotations", {})[names.PRE_POPULATED] = name_of(claim)

    return await change(client, DATA_VOLUMES, volume, mark)


def missing(volume: Object) -> VolumeFault:
    """For a DataVolume that stands for a claim which was filled before it, and is not there."""
    message = (
        f'PersistentVolumeClaim "{name_of(volume)}" is not there, and was filled before this DataVolume was: restore '
        f"it, or remove the annotation {names.PRE_POPULATED} to have it filled anew"
    )
    return VolumeFault("NotFound", message)


def check_asked(volume: Object, claim: Object | None) -> None:
    """Raises VolumeFault for a clone across namespaces that was filled, and whose claim is gone, or no longer its own.

    The right to read the source was asked of whoever made the DataVolume, and may not be theirs any more who deleted
    the claim. One whose claim is restored out of a backup waits for that: it is not filled either.
    """
    if annotation(volume, names.PRE_POPULATED):
        return
    if claim is not None and not is_deleting(claim) and is_owned(claim, volume):
        return
    message = (
        f'PersistentVolumeClaim "{name_of(volume)}" was filled from another namespace, and is gone, or another: it is '
        "not filled anew, for the right to read there was asked for one filling. This is final: delete the DataVolume "
        "and make it anew"
    )
    raise VolumeFault("CloneRightNotAsked", message, final=True)


def is_released(volume: Object, claim: Object) -> bool:
    """Whether the DataVolume has left the claim to others, and is to go itself."""
    return annotation(claim, names.RELEASED_BY) == uid_of(volume)


async def release(client: Client, volume: Object, claim: Object) -> None:
    """Leave the claim to the DataVolume's own owners, and delete the DataVolume, which has done its work.

    Whoever dies in between finds the claim marked: by its owners it would be somebody else's.
    """

    def hand_over(each: Object) -> None:
        metadata = each["metadata"]
        kept = [known for known in metadata.get("ownerReferences") or () if known["uid"] != uid_of(volume)]
        heirs = volume["metadata"].get("ownerReferences") or ()
        known = {reference["uid"] for reference in kept}
        metadata["ownerReferences"] = [*kept, *(heir for heir in heirs if heir["uid"] not in known)]
        annotations = metadata.setdefault("annotations", {})
        annotations.pop(names.POPULATED_FOR, None)
        annotations[names.RELEASED_BY] = uid_of(volume)

    if not is_released(volume, claim):
        await change(client, VOLUME_CLAIMS, claim, hand_over)
    await delete(client, DATA_VOLUMES, volume)
