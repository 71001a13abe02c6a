"""VolumeSnapshotContents of local volumes: files that are taken at one moment, whole or not at all."""

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import PODS, SNAPSHOT_CONTENTS, SNAPSHOTS, VOLUMES
from ingot.api.status import ApiError
from ingot.host.clone import Cancelled, Progress
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes.cluster import Cluster
from ingot.standalone.volumes.finalizers import hold, let_go
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.manifest import is_block
from ingot.standalone.volumes.match import capacity_of
from ingot.standalone.volumes.pauses import Pauses
from ingot.standalone.volumes.records import Record
from ingot.standalone.volumes.snapshot_faults import SnapshotFault, failed
from ingot.standalone.volumes.snapshot_words import (
    BEING_DELETED,
    CONTENT_BOUND,
    DRIVER,
    belongs_to,
    content_name,
    handle_name,
    handle_of,
)
from ingot.standalone.volumes.words import annotation
from ingot.standalone.volumes.writers import busy, writer_of

log = logging.getLogger(__name__)

_RETRY_SECONDS = 5.0
# Some of them wait for a copy, which has a thread of its own: it may take long where no blocks are shared.
_WORKERS = 8
_COPIES = 2


class Snapshotter:
    """Takes the snapshots that contents ask for, and deletes those of contents that are to go.

    What the storage calls a snapshot follows from the VolumeSnapshot's uid: a second try finds what the first one made.
    """

    def __init__(self, manager: Manager, local: LocalVolumes, cluster: Cluster, clock: Clock = SYSTEM) -> None:
        self.client = manager.client
        self._local = local
        self._files = local.snapshots()
        self._files.prepare()
        self._cluster = cluster
        self._clock = clock
        self._pauses = Pauses()
        self._events = Recorder(manager.client, DRIVER, clock=clock)
        self._contents = manager.informer(SNAPSHOT_CONTENTS)
        self._volumes = manager.informer(VOLUMES)
        self._pods = manager.informer(PODS)
        # Copies that are under way, by the names of their contents.
        self._taking: dict[str, Progress] = {}
        self._threads = ThreadPoolExecutor(_COPIES, "snapshot-copy")
        controller = Controller("snapshotter", self.reconcile, workers=_WORKERS)
        controller.watch(self._contents, self._of_content)
        controller.watch(self._volumes, lambda _: ())
        controller.watch(self._pods, lambda _: ())
        for name in self._files.names():
            if record := self._files.record(name):
                controller.queue.add(Key("", content_name(record.claim_uid)))
        manager.serve(self._events.run)
        manager.add(controller)

    def _of_content(self, content: Object) -> list[Key]:
        if is_deleting(content) and (progress := self._taking.get(name_of(content))):
            progress.cancelled.set()
        return [key_of(content)]

    async def reconcile(self, key: Key) -> Result | None:
        content = self._contents.cache.get(key)
        if content is None:
            await self._sweep(key.name)
            return None
        if content["spec"]["driver"] != DRIVER:
            return None
        if not is_deleting(content) and (pause := self._pauses.rest(key.name)):
            return pause
        try:
            await (self._end(content) if is_deleting(content) else self._keep(content))
        except Cancelled:
            return None
        except SnapshotFault as fault:
            return await self._fail(content, fault.reason, str(fault))
        except OSError as error:
            where = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            await self._fail(content, "SnapshotCreationFailed", where)
            return self._pauses.begin(key.name, _RETRY_SECONDS)
        return None

    async def _keep(self, content: Object) -> None:
        """See that there is what the content says. Raises SnapshotFault, OSError, Cancelled."""
        content = await hold(self.client, SNAPSHOT_CONTENTS, content, CONTENT_BOUND)
        handle = handle_of(content)
        if not await asyncio.to_thread(self._files.has, handle):
            status = content.get("status") or {}
            if status.get("snapshotHandle") or content["spec"]["source"].get("snapshotHandle"):
                raise _fault(f"snapshot {handle} is not there: {self._files.directory / handle} is missing")
            if annotation(content, BEING_DELETED):
                return
            await self._take(content, handle)
        record = await asyncio.to_thread(self._files.record, handle)
        if record is None:
            raise _fault(f"snapshot {handle} has lost its record: it is not known what it is")
        await self._write(
            content,
            {
                "snapshotHandle": handle,
                "creationTime": record.taken,
                "restoreSize": record.size,
                "readyToUse": True,
            },
        )

    async def _take(self, content: Object, handle: str) -> None:
        volume = self._original(content)
        reference = content["spec"]["volumeSnapshotRef"]
        if not reference.get("uid"):
            raise _fault("spec.volumeSnapshotRef.uid is missing: make a VolumeSnapshot, and its content is made")
        packed = await asyncio.to_thread(self._local.packable, name_of(volume), is_block(volume))
        record = Record(
            name=handle,
            cluster=await self._cluster.uid(),
            namespace=reference["namespace"],
            claim=reference["name"],
            claim_uid=reference["uid"],
            block=is_block(volume),
            size=capacity_of(volume),
            taken=time.time_ns(),
            packed=packed,
        )
        progress = self._taking[name_of(content)] = Progress()
        try:
            source = self._local.directory / name_of(volume)
            work = partial(self._files.fill, record, 0, source, progress)
            await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            # A thread cannot be cancelled, but asked: what it leaves behind is made anew by the next try.
            progress.cancelled.set()
            del self._taking[name_of(content)]
        # The original must have been left alone until the copy was done.
        self._original(content)
        await asyncio.to_thread(self._files.publish, handle)

    def _original(self, content: Object) -> Object:
        """The volume to take a snapshot of. Raises SnapshotFault while that cannot be."""
        name = content["spec"]["source"].get("volumeHandle", "")
        volume = self._volumes.cache.get(Key("", name))
        if volume is None or not self._local.has(name):
            raise _fault(f"volume {name} is not a local one of this node")
        claim = volume["spec"].get("claimRef") or {}
        pod = writer_of(self._pods.cache, claim.get("namespace", ""), claim.get("name", ""))
        if pod and not self._local.shares_blocks:
            raise _fault(f"claim {claim.get('namespace')}/{claim.get('name')} {busy(pod)}")
        return volume

    async def _fail(self, content: Object, reason: str, why: str) -> Result:
        message = f"{why}; tried again in {_RETRY_SECONDS:g} s"
        self._events.record(content, reason, message, "Warning")
        await self._write(content, failed(content.get("status") or {}, message, self._clock.time()))
        return Result(requeue_after=_RETRY_SECONDS)

    async def _write(self, content: Object, status: Object) -> None:
        if status != (content.get("status") or {}):
            await patch_status(self.client, SNAPSHOT_CONTENTS, content, {**content, "status": status})

    async def _end(self, content: Object) -> None:
        """Files first, then the object, then the record, so that nothing is left at any point."""
        if await self._is_held(content):
            return
        handle = handle_of(content)
        deletes = content["spec"]["deletionPolicy"] == "Delete" and not self._others(handle, uid_of(content))
        if deletes:
            await asyncio.to_thread(self._files.remove, handle, block=False)
        else:
            await asyncio.to_thread(self._files.retain, handle)
        await let_go(self.client, SNAPSHOT_CONTENTS, content, CONTENT_BOUND)
        if deletes:
            await asyncio.to_thread(self._files.forget, handle)

    async def _is_held(self, content: Object) -> bool:
        """Whether the content's snapshot is still there, and to stay. The server is asked: what is deleted is gone."""
        reference = content["spec"]["volumeSnapshotRef"]
        try:
            snapshot = await self.client.get(SNAPSHOTS, reference.get("name", ""), reference.get("namespace", ""))
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return belongs_to(content, snapshot) and not is_deleting(snapshot)

    def _others(self, handle: str, uid: str) -> list[Object]:
        """Further contents of the same snapshot."""
        return [each for each in self._contents.cache.list() if handle_of(each) == handle and uid_of(each) != uid]

    async def _sweep(self, name: str) -> None:
        """Delete what was taken for a content that is gone: a deletion or a try that was cut off."""
        handle = name.replace(content_name(""), handle_name(""), 1)
        record = await asyncio.to_thread(self._files.record, handle)
        if record is None or record.retained or self._others(handle, ""):
            return
        if record.cluster != await self._cluster.uid():
            log.warning("%s: the snapshot belongs to another API server and stays", self._files.directory / handle)
            return
        if not await self._is_gone(name):
            return
        await asyncio.to_thread(self._files.remove, handle, block=False)
        await asyncio.to_thread(self._files.forget, handle)

    async def _is_gone(self, name: str) -> bool:
        try:
            await self.client.get(SNAPSHOT_CONTENTS, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return True
        return False


def _fault(message: str) -> SnapshotFault:
    return SnapshotFault("SnapshotCreationFailed", message)
