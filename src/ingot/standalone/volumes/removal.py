"""Deleting local volumes: files first, then the object, then the record, so that nothing is left at any point."""

import asyncio
import logging

from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.kube.objects import copy_of, has_finalizer, is_deleting, remove_finalizer
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.manifest import is_block
from ingot.standalone.volumes.records import Record
from ingot.standalone.volumes.words import LOCAL_FINALIZER, phase_of

log = logging.getLogger(__name__)


class Removal:
    """Deletes a volume only if it has a record, and neither the claim in that nor the one in the object has it."""

    def __init__(self, client: Client, local: LocalVolumes, events: Recorder) -> None:
        self._client = client
        self._local = local
        self._events = events

    async def is_done(self, volume: Object, cluster: str) -> bool:
        """Delete the volume if it is to go; whether it is."""
        deletes = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        released = phase_of(volume) == "Released" and deletes
        if not released and not (is_deleting(volume) and phase_of(volume) != "Bound"):
            return False
        name = name_of(volume)
        if not deletes:
            await asyncio.to_thread(self._local.retain, name)
            await self._let_go(volume)
            return True
        record = await asyncio.to_thread(self._local.record, name)
        if record is not None:
            if why := await self._why_kept(volume, record, cluster):
                self._events.record(volume, "VolumeFailedDelete", why, "Warning")
                return True
            await self._empty(volume)
        await self._let_go(volume)
        await asyncio.to_thread(self._local.forget, name)
        return True

    async def _why_kept(self, volume: Object, record: Record, cluster: str) -> str:
        """Why the files must stay although the object is to go, "" if they need not. The server is asked last."""
        reference = volume["spec"].get("claimRef") or {}
        owner = {"namespace": record.namespace, "name": record.claim, "uid": record.claim_uid}
        claim = await self._claim(owner)
        if reference.get("uid") != record.claim_uid:
            # The object was given to another claim, and that one has gone before its name was written down.
            given = reference.get("uid") and record.cluster == cluster
            if not given or (_has(claim, record.name) and phase_of(claim or {}) != "Lost"):
                whose = f"{record.namespace}/{record.claim}"
                return f"the files were made for another claim, {whose}: they stay until somebody deletes them by hand"
            owner, claim = reference, await self._claim(reference)
        if _has(claim, record.name):
            return (
                f"claim {owner['namespace']}/{owner['name']} still has the volume: it stays until the claim is deleted"
            )
        return ""

    async def _empty(self, volume: Object) -> None:
        try:
            await asyncio.to_thread(self._local.remove, name_of(volume), is_block(volume))
        except OSError as error:
            self._events.record(volume, "VolumeFailedDelete", f"{error.filename}: {error.strerror}", "Warning")
            raise

    async def _let_go(self, volume: Object) -> None:
        """Delete the object. It has gone already if somebody else did so."""
        try:
            if has_finalizer(volume, LOCAL_FINALIZER):
                changed = copy_of(volume)
                remove_finalizer(changed, LOCAL_FINALIZER)
                metadata = {
                    "resourceVersion": volume["metadata"]["resourceVersion"],
                    "finalizers": changed["metadata"]["finalizers"],
                }
                await self._client.patch(VOLUMES, name_of(volume), {"metadata": metadata})
            if not is_deleting(volume):
                await self._client.delete(VOLUMES, name_of(volume), uid=uid_of(volume))
        except ApiError as error:
            if error.code != 404:
                raise

    async def sweep(self, name: str, cluster: str) -> None:
        """Delete what was made for a claim that is gone, when there is no object of it: a try that was cut off.

        The server is asked after the files were seen, so that no volume is missed which came meanwhile.
        """
        record = await asyncio.to_thread(self._local.record, name)
        if record is None or record.retained:
            return
        if record.cluster != cluster:
            log.warning("%s: the volume belongs to another API server's claim and stays", self._local.directory / name)
            return
        claim = await self._claim({"namespace": record.namespace, "name": record.claim, "uid": record.claim_uid})
        if claim is not None and claim["spec"].get("volumeName") in (None, "", name):
            return
        if await self._is_volume(name):
            return
        await asyncio.to_thread(self._local.remove, name, record.block)
        await asyncio.to_thread(self._local.forget, name)

    async def _is_volume(self, name: str) -> bool:
        try:
            await self._client.get(VOLUMES, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _claim(self, reference: Object) -> Object | None:
        """The very claim that is referred to, as the server has it."""
        try:
            claim = await self._client.get(VOLUME_CLAIMS, reference["name"], reference["namespace"])
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return claim if uid_of(claim) == reference["uid"] else None


def _has(claim: Object | None, volume: str) -> bool:
    return claim is not None and claim["spec"].get("volumeName") == volume
