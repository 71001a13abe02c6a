"""What is made for a DataVolume: its claim, and what tells a populator how to fill that."""

import asyncio

from ingot.api.cdi import names, size
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, SNAPSHOTS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.volumes import adoption, claim, source
from ingot.control.volumes.detection import Detection
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.marks import annotation, is_bound, phase_of
from ingot.control.volumes.prime import not_made
from ingot.control.volumes.source import Operation
from ingot.control.volumes.status import SUCCEEDED
from ingot.control.volumes.taken import claim_of, taken_of
from ingot.control.writing import change, delete, live
from ingot.images.blocks import whole_blocks
from ingot.kube.cache import OWNER, Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of

# How often a snapshot that is not there, or not ready, is looked for: a cluster need not have the kind at all.
_SNAPSHOT_SECONDS = 5.0


class Maker:
    """Makes what is missing, and removes what is of no use any more. Every step may be repeated."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self.sources = {each: manager.informer(source.resource_of(each)) for each in Operation}
        self.detection = Detection(manager, clock, outfit)
        self._client = manager.client
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._data_sources = manager.informer(DATA_SOURCES)
        self._classes = manager.informer(STORAGE_CLASSES)

    async def noted(self, volume: Object) -> Object:
        """The DataVolume, whose status has what its DataSource stands for where that is in another namespace.

        It is noted before anything is made, and is another origin's only while nothing is: a clone that was begun is
        finished, wherever the DataSource has moved since. Raises VolumeFault where it may not be noted.
        """
        if "sourceRef" not in volume["spec"] or phase_of(volume) == SUCCEEDED:
            return volume
        wanted = source.elsewhere_of(volume, self._data_sources.cache)
        before = (volume.get("status") or {}).get("origin")
        if before == wanted or (before and await self._is_begun(volume)):
            return volume
        told = copy_of(volume)
        told["status"] = {key: value for key, value in (told.get("status") or {}).items() if key != "origin"}
        if wanted:
            told["status"]["origin"] = wanted
        try:
            return await patch_status(self._client, DATA_VOLUMES, volume, told)
        except ApiError as error:
            raise _refused("status.origin", error) from error

    async def _is_begun(self, volume: Object) -> bool:
        name = source.reference_to(volume, Operation.CLONE)["name"]
        return await live(self._client, source.resource_of(Operation.CLONE), name, namespace_of(volume)) is not None

    async def made(self, volume: Object) -> Object:
        """The claim, made now together with what fills it; one that is there after all is returned as it is."""
        if annotation(volume, names.PRE_POPULATED):
            raise adoption.missing(volume)
        content = source.resolve(volume, self._data_sources.cache)
        kind, origin = await self._origin(content or {})
        storage_class, mode = await self._likeness(volume, kind, origin)
        wanted_size = await self._size(volume, content, kind, origin)
        spec = claim.spec_of(volume, storage_class, wanted_size, mode)
        local = claim.is_local(storage_class)
        if content is None:
            return await self._claimed(claim.render(volume, spec, None, local=local))
        operation = source.operation_of(content)
        reference = source.reference_to(volume, operation)
        wanted = claim.render(volume, spec, reference, local=local, origin=key_of(origin) if origin else None)
        # At once: the populator finds both when it hears of either.
        telling = self._told(operation, source.render(volume, content))
        made, _ = await asyncio.gather(self._claimed(wanted), telling)
        return made

    async def _claimed(self, wanted: Object) -> Object:
        try:
            return await self._client.create(VOLUME_CLAIMS, wanted)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise _refused("the claim", error) from error
        found = await live(self._client, VOLUME_CLAIMS, name_of(wanted), namespace_of(wanted))
        if found is None:
            raise VolumeFault("NotFound", "the claim of before has just gone; tried again", retry=1.0)
        return found

    async def _told(self, operation: Operation, wanted: Object) -> None:
        try:
            await self._client.create(source.resource_of(operation), wanted)
        except ApiError as error:
            # Its name has the DataVolume's uid in it: one that is there was made for this one.
            if error.reason != "AlreadyExists":
                raise _refused(f"the {wanted['kind']}", error) from error

    async def _origin(self, content: Object) -> tuple[Resource, Object] | tuple[None, None]:
        """What is cloned; None twice for what is not. Raises VolumeFault where it is not there."""
        named = source.origin_of(content)
        if named is None:
            return None, None
        kind, key = named
        found = self._claims.cache.get(key) if kind == VOLUME_CLAIMS else await live(self._client, kind, *key[::-1])
        if found is not None:
            return kind, found
        message = f'{kind.kind} "{key.name}", which is to be cloned, is not in namespace "{key.namespace}"'
        retry = _SNAPSHOT_SECONDS if kind == SNAPSHOTS else None
        raise VolumeFault("CloneWithoutSource", f"{message}: it is cloned once it is", retry=retry)

    async def _likeness(
        self, volume: Object, kind: Resource | None, origin: Object | None
    ) -> tuple[Object | None, str]:
        """The StorageClass of the claim, and the volumeMode of what is cloned, "" where there is nothing to tell that.

        Where the class is ours to choose, it is one that can restore the snapshot. Raises VolumeFault while nobody
        knows what that is of.
        """
        wish, classes = claim.wish_of(volume), self._classes.cache
        storage_class = claim.class_of(wish, classes)
        if origin is None or kind is None:
            return storage_class, ""
        if kind == VOLUME_CLAIMS:
            return storage_class, claim.mode_of(origin["spec"])
        if not claim.is_free(volume):
            return storage_class, ""
        taken = await taken_of(self._client, origin)
        if taken is None:
            raise _not_ready(kind, origin)
        if wish.get("storageClassName") is None:
            former = self._claims.cache.get(claim_of(origin))
            preferred = (storage_class, claim.class_of(former["spec"], classes) if former else None)
            storage_class = taken.class_among(classes, *preferred) or storage_class
        return storage_class, taken.mode

    async def _size(self, volume: Object, content: Object | None, kind: Resource | None, origin: Object | None) -> int:
        """The bytes that the volume must hold. Raises VolumeFault while nobody knows."""
        if (asked := size.requested(claim.wish_of(volume))) is not None:
            return asked
        if kind is not None and origin is not None:
            if (found := size.of_origin(kind, origin)) is None:
                raise _not_ready(kind, origin)
            return found
        if content is None:
            message = "spec.storage.resources.requests.storage is expected: nothing else tells the size. This is final"
            raise VolumeFault("ErrClaimNotValid", message, final=True)
        return whole_blocks(await self.detection.size(volume, content))

    async def hastened(self, volume: Object, found: Object) -> Object:
        """The claim, told not to wait where it was made for this volume before its class was there."""
        is_ours = annotation(found, names.CREATED_FOR) == uid_of(volume) and source.populator_of(found)
        if not is_ours or names.IMMEDIATE in (found["metadata"].get("annotations") or {}):
            return found
        if not claim.is_local(claim.class_of(found["spec"], self._classes.cache)):
            return found
        return await change(self._client, VOLUME_CLAIMS, found, claim.hasten)

    async def check(self, volume: Object, found: Object) -> None:
        """Make what tells the populator how to fill the claim, where it is not there: it was not made, or is gone."""
        operation = source.populator_of(found)
        if operation is None or is_bound(found) or annotation(found, names.FAILURE):
            return
        if found["spec"]["dataSourceRef"] != source.reference_to(volume, operation):
            return
        key = Key(namespace_of(volume), found["spec"]["dataSourceRef"]["name"])
        if self.sources[operation].cache.get(key) is None:
            content = source.resolve(volume, self._data_sources.cache)
            if content and source.operation_of(content) is operation:
                await self._told(operation, source.render(volume, content))

    async def clear(self, volume: Object) -> None:
        """The claim is filled: what told how is of no use any more. A cache that is late brings us here again."""
        for informer in self.sources.values():
            for found in informer.cache.by_index(OWNER, uid_of(volume)):
                await delete(self._client, informer.resource, found)

    async def remove(self, volume: Object) -> None:
        """The claim is gone and will not be filled: nothing brings us here again, so that no cache is believed."""
        for operation in Operation:
            # Its name has the DataVolume's uid in it.
            name = source.reference_to(volume, operation)["name"]
            if found := await live(self._client, source.resource_of(operation), name, namespace_of(volume)):
                await delete(self._client, source.resource_of(operation), found)


def _not_ready(kind: Resource, origin: Object) -> VolumeFault:
    """For a clone of what nobody knows the size of."""
    why = "could not be filled" if annotation(origin, names.FAILURE) else "is not filled yet"
    message = f'{kind.kind} "{key_of(origin)}", which is to be cloned, {why}: it is cloned once it is'
    return VolumeFault("ImportPVCNotReady", message, retry=_SNAPSHOT_SECONDS if kind == SNAPSHOTS else None)


def _refused(what: str, error: ApiError) -> VolumeFault:
    """The fault for an object that the server will not take as things are; raises an error that passes."""
    said = not_made(what, error).step
    reason = "ErrExceededQuota" if "exceeded quota" in error.message else "ErrClaimNotValid"
    return VolumeFault(reason, said.message, retry=said.again)
