"""Runs the pods that are bound to this machine: what a kubelet is to a node of a cluster."""

import logging
from collections.abc import Awaitable
from pathlib import Path

from ingot.api.object import Object, uid_of
from ingot.api.resources import PODS
from ingot.api.status import ApiError
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.standalone.pods.directory import known
from ingot.standalone.pods.downward import address_of, addressed
from ingot.standalone.pods.ending import Ending
from ingot.standalone.pods.exits import Exits
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.node import Node
from ingot.standalone.pods.probes import Probes
from ingot.standalone.pods.running import Memory, Running
from ingot.standalone.pods.status import Picture, status_of

log = logging.getLogger(__name__)

WORKERS = 32
# What runs of a pod that nobody knows any more gets this long to end.
ORPHAN_SECONDS = 2.0
# How often a volume that could not be unmounted is tried again.
UNMOUNT_SECONDS = 10.0
_OVER = ("Succeeded", "Failed")


class PodRunner:
    """Registers this machine as a node and runs the pods that are bound to it.

    Containers outlive this process. A later one finds them, and ends those whose pods are gone.
    """

    def __init__(self, manager: Manager, node_name: str, kubelet: Path, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._node_name = node_name
        self._root = kubelet
        self._clock = clock
        self._events = Recorder(manager.client, "ingot-pods", host=node_name, clock=clock)
        self._running = Running(manager.client, kubelet, self._events, clock)
        self._probes = Probes(self._running.containers.enter, self._events)
        self._ending = Ending(kubelet)
        self._exits = Exits()
        self._memories: dict[str, Memory] = {}
        self._pods = manager.informer(PODS)
        self._pods.cache.add_index("uid", lambda pod: (uid_of(pod),))
        self._controller = Controller("pods", self.reconcile, workers=WORKERS).watch(self._pods, self._ours)
        self._orphans = Controller("orphans", self.end_orphan).watch(self._pods, self._orphan)
        for uid in known(kubelet):
            self._orphans.queue.add(Key("", uid))
        manager.add(self._controller)
        manager.add(self._orphans)
        manager.serve(self._events.run)
        manager.serve(Node(manager.client, node_name, kubelet.parent, clock).run)

    def _ours(self, pod: Object) -> list[Key]:
        return [key_of(pod)] if pod["spec"].get("nodeName") == self._node_name else []

    def _orphan(self, pod: Object) -> list[Key]:
        """A pod that is gone from the server though something of it may be here."""
        ours = pod["spec"].get("nodeName") == self._node_name
        return [Key("", uid_of(pod))] if ours and not self._pods.cache.by_index("uid", uid_of(pod)) else []

    async def reconcile(self, key: Key) -> Result | None:
        """Takes the next step of a pod, and writes down what it has come to."""
        pod = self._pods.cache.get(key)
        if pod is None or pod["spec"].get("nodeName") != self._node_name:
            return None
        if is_deleting(pod):
            return await self._end(pod)
        if pod.get("status", {}).get("phase") in _OVER:
            return await self._finish(pod)
        memory = self._memories.setdefault(uid_of(pod), Memory())
        try:
            picture, wait = await self._running.step(pod, memory)
        finally:
            if not self._pods.cache.by_index("uid", uid_of(pod)):
                # It went while its containers were being started.
                self._orphans.queue.add(Key("", uid_of(pod)))
        self._watch(key, picture)
        picture.unready = self._unready(key, addressed(pod, picture.address or address_of(pod)), picture)
        await self._write(pod, picture)
        return Result(wait) if wait else None

    def _unready(self, key: Key, pod: Object, picture: Picture) -> frozenset[str]:
        """The containers that run, and have not said yet that they are ready."""

        def wake() -> None:
            self._controller.queue.add(key)

        running = [view for view in picture.main if view.running]
        return frozenset(view.name for view in running if not self._probes.follow(pod, view, wake))

    async def _finish(self, pod: Object) -> Result | None:
        """A pod that is over runs nothing and holds no volume; its logs stay until it is deleted."""
        uid = uid_of(pod)
        if wait := self._ending.step(uid, _grace(pod)):
            self._watch(key_of(pod), Picture(*self._running.views(pod)))
            return Result(wait)
        status = pod["status"]
        if "reason" in status:
            # It failed while its containers ran: they have ended since.
            failure = PodFault(status["reason"], status.get("message", ""), final=True)
            await self._write(pod, Picture(*self._running.views(pod), failure=failure))
        if not await self._cleared(self._ending.release(uid), uid, pod):
            return Result(UNMOUNT_SECONDS)
        self._forget(uid)
        return None

    async def _cleared(self, work: Awaitable[None], uid: str, pod: Object | None = None) -> bool:
        """Takes away what a pod has left; whether all of it is gone. What stays is told."""
        try:
            await work
        except PodFault as fault:
            log.warning("pod %s: %s", uid, fault)
            if pod is not None:
                self._events.record(pod, fault.reason, fault.message, "Warning")
            return False
        return True

    def _forget(self, uid: str) -> None:
        self._memories.pop(uid, None)
        self._probes.forget(uid)
        self._running.addresses.forget(uid)

    async def _end(self, pod: Object) -> Result | None:
        uid = uid_of(pod)
        self._probes.forget(uid)
        wait = self._ending.step(uid, _grace(pod))
        init, main = self._running.views(pod)
        picture = Picture(init, main, over=True)
        if wait:
            self._watch(key_of(pod), picture)
            await self._write(pod, picture)
            return Result(wait)
        if pod.get("status", {}).get("phase") not in _OVER and any(view.attempt for view in main):
            await self._write(pod, picture)
        if not await self._cleared(self._ending.remove(uid), uid, pod):
            return Result(UNMOUNT_SECONDS)
        self._forget(uid)
        try:
            await self._client.delete(
                PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace_period=0, uid=uid
            )
        except ApiError as error:
            if error.code not in (404, 409):
                raise
        return None

    async def end_orphan(self, key: Key) -> Result | None:
        """Ends what is left of a pod that the server does not know."""
        if self._pods.cache.by_index("uid", key.name):
            return None
        wait = self._ending.step(key.name, ORPHAN_SECONDS)
        if wait:
            return Result(min(wait, 0.2))
        if not await self._cleared(self._ending.remove(key.name), key.name):
            return Result(UNMOUNT_SECONDS)
        self._forget(key.name)
        return None

    def _watch(self, key: Key, picture: Picture) -> None:
        """Look again when something that runs ends, and at once where it has ended since it was looked at."""

        def wake() -> None:
            self._controller.queue.add(key)

        for attempt in (view.attempt for view in (*picture.init, *picture.main) if view.running):
            process = attempt.process() if attempt else None
            if process:
                self._exits.watch(process, wake)
            else:
                wake()

    async def _write(self, pod: Object, picture: Picture) -> None:
        try:
            await patch_status(self._client, PODS, pod, status_of(pod, picture, self._clock.time()))
        except ApiError as error:
            if error.code != 404:
                raise


def _grace(pod: Object) -> float:
    metadata, spec = pod["metadata"], pod["spec"]
    given = metadata.get("deletionGracePeriodSeconds", spec.get("terminationGracePeriodSeconds", 30))
    return float(given)
