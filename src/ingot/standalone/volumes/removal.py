"""Deleting local volumes: files first, then the object, then the record, so that nothing is left at any point."""

import asyncio
import logging

from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.kube.objects import copy_of, has_finalizer, is_deleting, remove_finalizer
from ingot.standalone.volumes.local import LocalVolumes, Record
from ingot.standalone.volumes.manifest import is_block
from ingot.standalone.volumes.words import LOCAL_FINALIZER, phase_of

log = logging.getLogger(__name__)


class Removal:
    """Deletes a volume only if it has a record, and that is of the claim which the object names."""

    def __init__(self, client: Client, local: LocalVolumes, events: Recorder) -> None:
        self._client = client
        self._local = local
        self._events = events

    async def is_done(self, volume: Object) -> bool:
        """Delete the volume if it is to go; whether it is."""
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        released = phase_of(volume) == "Released" and policy == "Delete"
        if not released and not (is_deleting(volume) and phase_of(volume) != "Bound"):
            return False
        name = name_of(volume)
        record = await asyncio.to_thread(self._local.record, name)
        if policy != "Delete":
            await asyncio.to_thread(self._local.retain, name)
        elif record is not None and not await self._is_emptied(volume, record):
            return True
        await self._let_go(volume)
        if policy == "Delete":
            await asyncio.to_thread(self._local.forget, name)
        return True

    async def _is_emptied(self, volume: Object, record: Record) -> bool:
        """Delete the files of the volume; whether they were its own, and could be deleted."""
        if (volume["spec"].get("claimRef") or {}).get("uid") != record.claim_uid:
            why = (
                f"the files of {record.name} were made for another claim, {record.namespace}/{record.claim}: they stay"
            )
            self._events.record(volume, "VolumeFailedDelete", why, "Warning")
            return False
        try:
            await asyncio.to_thread(self._local.remove, record.name, is_block(volume))
        except OSError as error:
            self._events.record(volume, "VolumeFailedDelete", f"{error.filename}: {error.strerror}", "Warning")
            raise
        return True

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
        if await self._is_volume(name) or await self._is_claim(record):
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

    async def _is_claim(self, record: Record) -> bool:
        """Whether the claim is there and has no other volume."""
        try:
            claim = await self._client.get(VOLUME_CLAIMS, record.claim, record.namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return uid_of(claim) == record.claim_uid and claim["spec"].get("volumeName") in (None, "", record.name)
