"""Telling the API how an instance fares on this node."""

import asyncio
from collections.abc import Callable
from typing import Literal

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.names import NODE_FINALIZER, NODE_NAME
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES
from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.events import Recorder
from ingot.kube.objects import add_finalizer, copy_of, is_deleting, remove_finalizer
from ingot.node import status
from ingot.node.events import DomainState

PROGRESS_SECONDS = 1.0


class Teller:
    """Writes status, events and the node's finalizer. A 409 means that somebody wrote meanwhile: start over."""

    def __init__(self, client: Client, recorder: Recorder, clock: Clock = SYSTEM) -> None:
        self._client = client
        self._recorder = recorder
        self._clock = clock

    async def hold(self, instance: Object) -> Object:
        """Keeps the object until nothing of it is left here; the object as it is then."""
        return await self._finalizers(instance, add_finalizer)

    async def release(self, instance: Object) -> Object:
        return await self._finalizers(instance, remove_finalizer)

    async def _finalizers(self, instance: Object, change: Callable[[Object, str], bool]) -> Object:
        changed = copy_of(instance)
        if not change(changed, NODE_FINALIZER):
            return instance
        metadata = {key: changed["metadata"].get(key) for key in ("finalizers", "resourceVersion")}
        return await self._client.patch(INSTANCES, name_of(instance), {"metadata": metadata}, namespace_of(instance))

    async def running(self, instance: Object, state: DomainState, volumes: list[Object]) -> None:
        began = phase.phase_of(instance) != phase.RUNNING
        told = copy_of(instance)
        status.running(told, state, self._clock.time())
        status.volumes(told, volumes)
        await patch_status(self._client, INSTANCES, instance, told)
        if began:
            self._recorder.record(instance, "Started", "VirtualMachineInstance started.")

    async def ended(self, instance: Object, reason: str) -> Object:
        """The guest is gone; the object as it is then."""
        told = copy_of(instance)
        status.ended(told, reason, self._clock.time())
        if told == instance:
            return instance
        changed = await patch_status(self._client, INSTANCES, instance, told)
        self._recorder.record(instance, *_farewell(instance, reason))
        return changed

    async def refused(self, instance: Object, reason: str, message: str, volume: str = "") -> None:
        """The guest cannot start as things are."""
        live = await self._live(instance)
        told = copy_of(live)
        news = status.refused(told, reason, message, self._clock.time())
        if volume:
            status.volumes(told, [{"name": volume, "phase": "Pending", "reason": reason, "message": message}])
        await patch_status(self._client, INSTANCES, live, told)
        if news:
            self._recorder.record(instance, reason, message, "Warning")

    async def follow(self, instance: Object, done: dict[str, tuple[int, int]]) -> None:
        """Tells how far copies are, once a second while that changes, until cancelled."""
        last: dict[str, tuple[int, int]] = {}
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            if done == last:
                continue
            last = dict(done)
            live = await self._live(instance)
            told = copy_of(live)
            status.volumes(told, [status.copying(name, *count) for name, count in last.items()])
            await patch_status(self._client, INSTANCES, live, told)

    async def found(self, key: Key, uid: str) -> bool:
        """Whether an instance that is not among this node's is there all the same: somebody has taken its label away,
        which it gets back."""
        try:
            live = await self._client.get(INSTANCES, key.name, key.namespace)
        except ApiError as error:
            if error.code == 404:
                return False
            raise
        if uid_of(live) != uid:
            return False
        if node := (live.get("status") or {}).get("nodeName"):
            await self._client.patch(INSTANCES, key.name, {"metadata": {"labels": {NODE_NAME: node}}}, key.namespace)
        return True

    async def _live(self, instance: Object) -> Object:
        return await self._client.get(INSTANCES, name_of(instance), namespace_of(instance))


def _farewell(instance: Object, reason: str) -> tuple[str, str, Literal["Normal", "Warning"]]:
    """The event about a guest that is gone: its reason, its words and its kind."""
    if reason == "shutdown":
        return "Stopped", "The VirtualMachineInstance was shut down.", "Normal"
    if reason == status.NEVER_STARTED:
        return "Stopped", "The VirtualMachineInstance was deleted before its guest was started.", "Normal"
    if is_deleting(instance):
        return "Stopped", "The guest did not shut down in its grace period, and was ended.", "Warning"
    return "Crashed", f"The VirtualMachineInstance ended: {reason}.", "Warning"
