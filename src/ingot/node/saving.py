"""Savers of this node: pods that hold claims, which are filled here with the disks of a machine at one moment (F5).

All that is known of one is said on its pod. A copy that is cut off is never gone on with: it is told to have failed.
"""

import asyncio
import contextlib
import logging

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import MACHINE_SNAPSHOT_CONTENTS, PODS
from ingot.api.snapshot.saving import COPY, MEASURE, SAVER, SAVING, Saving, Stage, saver_name
from ingot.api.status import ApiError
from ingot.disks.fault import DiskFault
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock, timestamp
from ingot.kube.controller import Controller, Result
from ingot.kube.manager import Manager
from ingot.kube.objects import controller_of, is_deleting
from ingot.kube.transport import ConnectionFailed
from ingot.node.capture import CaptureFault
from ingot.node.link import HypervisorError
from ingot.node.room import NoRoom
from ingot.node.saver import Saver, said
from ingot.node.saving_disks import Disks

log = logging.getLogger(__name__)

WORKERS = 8
RETRY_SECONDS = 10.0
PROGRESS_SECONDS = 1.0
_OVER = ("Succeeded", "Failed")
_LAST = (Stage.MEASURED, Stage.DONE, Stage.FAILED)
_CUT_OFF = "the node's agent was ended while it copied; tried again from the beginning"


def _is_going(pod: Object) -> bool:
    return is_deleting(pod) or (pod.get("status") or {}).get("phase") in _OVER


class Savers:
    """The controller of the savers that are on this node."""

    def __init__(self, manager: Manager, node: str, disks: Disks, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._disks = disks
        self._clock = clock
        # By the uids of pods, as long as these are there: a cache that is late shows what is done as under way.
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._sweeping = asyncio.Lock()
        self._pods = manager.informer(PODS, field_selector=f"spec.nodeName={node}", label_selector=SAVER)
        controller = Controller("savers", self.reconcile, workers=WORKERS)
        controller.watch(self._pods)
        # What an agent before us may have left is looked for, though no pod may be there.
        controller.queue.add(Key("", ""))
        manager.add(controller)
        manager.serve(self._run)

    async def uids(self) -> set[str]:
        """The savers of this node, by their pods' uids."""
        await self._pods.wait_synced()
        return {uid_of(pod) for pod in self._pods.cache.list() if not _is_going(pod)}

    async def _run(self) -> None:
        """Jobs end with us."""
        try:
            await asyncio.Event().wait()
        finally:
            await self._break_off(set(self._jobs))

    async def reconcile(self, key: Key) -> Result | None:
        await self._sweep()
        pod = self._pods.cache.get(key)
        if pod is None or _is_going(pod) or (pod.get("status") or {}).get("phase") != "Running":
            return None
        saving = Saving.of(pod)
        if uid_of(pod) in self._jobs or (saving is not None and saving.stage in _LAST):
            return None
        if saving is not None and saving.stage is Stage.COPYING:
            await self._disks.clear(uid_of(pod))
            await self._tell(pod, self._failed("AgentEnded", _CUT_OFF))
            return None
        saver = await self._saver(pod)
        if saver is None:
            return None
        if saver.copies and saver.is_told:
            self._jobs[saver.uid] = asyncio.create_task(self._copy(saver))
            return None
        return await self._prepare(saver)

    async def _sweep(self) -> None:
        """Pods that are gone leave nothing behind."""
        async with self._sweeping:
            gone = (self._disks.left() | set(self._jobs)) - await self.uids()
            await self._break_off(gone)
            for uid in gone:
                await self._disks.clear(uid)
                self._jobs.pop(uid, None)

    async def _break_off(self, uids: set[str]) -> None:
        tasks = [task for uid, task in self._jobs.items() if uid in uids]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _saver(self, pod: Object) -> Saver | None:
        """The pod with what it was made for; None where nothing is, or for a pod that only says so."""
        owner, role = controller_of(pod) or {}, said(pod, "labels", SAVER)
        if owner.get("kind") != MACHINE_SNAPSHOT_CONTENTS.kind or role not in (MEASURE, COPY):
            return None
        try:
            content = await self._client.get(MACHINE_SNAPSHOT_CONTENTS, owner["name"], namespace_of(pod))
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        is_made_for = uid_of(content) == owner["uid"] and name_of(pod) == saver_name(content, role)
        return Saver(pod, content) if is_made_for and not is_deleting(content) else None

    async def _prepare(self, saver: Saver) -> Result | None:
        """Look at the disks, and hold those of a machine that does not run."""
        try:
            sizes = await self._disks.look(saver)
        except (DiskFault, CaptureFault, HypervisorError) as fault:
            reason, wait = _reason(fault), (fault.retry if isinstance(fault, DiskFault) else None) or RETRY_SECONDS
            await self._tell(saver.pod, Saving(Stage.WAITING, reason, _message(fault)))
            return Result(wait)
        if saver.copies:
            await self._tell(saver.pod, Saving(Stage.READY))
        else:
            await self._disks.clear(saver.uid)
            await self._tell(saver.pod, Saving(Stage.MEASURED, sizes=sizes))
        return None

    async def _copy(self, saver: Saver) -> None:
        """Copy all disks, and say how that goes: before it begins, so that a next agent knows of it."""
        reading = {"done": 0, "total": 0}
        following = asyncio.create_task(self._follow(saver.pod, reading))
        try:
            await self._tell(saver.pod, Saving(Stage.COPYING))
            moment = await self._disks.copy(saver, lambda done, total: reading.update(done=done, total=total))
            outcome = Saving(Stage.DONE, moment=timestamp(moment), done=reading["total"], total=reading["total"])
        except (DiskFault, CaptureFault, HypervisorError, NoRoom, OSError) as fault:
            outcome = self._failed(_reason(fault), _message(fault))
        except (ApiError, ConnectionFailed) as fault:
            outcome = self._failed("ServerUnreachable", f"{fault}; tried again from the beginning")
        except Exception as fault:
            log.exception("the disks of %s could not be copied", saver.machine)
            outcome = self._failed("CopyFailed", f"{type(fault).__name__}: {fault}; tried again from the beginning")
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
        await self._insist(saver, outcome)

    async def _follow(self, pod: Object, reading: dict[str, int]) -> None:
        last: dict[str, int] = {}
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            if reading != last:
                last = dict(reading)
                # A reading that the server does not hear is followed by another one.
                with contextlib.suppress(ApiError, ConnectionFailed):
                    await self._tell(pod, Saving(Stage.COPYING, done=last["done"], total=last["total"]))

    def _failed(self, reason: str, message: str) -> Saving:
        return Saving(Stage.FAILED, reason, message, since=timestamp(self._clock.time()))

    async def _insist(self, saver: Saver, outcome: Saving) -> None:
        """Lets go of the disks and says how it went; what the server cannot hear now it is told later."""
        while True:
            try:
                await self._disks.clear(saver.uid)
                return await self._tell(saver.pod, outcome)
            except (ApiError, ConnectionFailed) as error:
                log.warning("what a saver has done cannot be told: %s; again in %g s", error, RETRY_SECONDS)
                await asyncio.sleep(RETRY_SECONDS)

    async def _tell(self, pod: Object, saving: Saving) -> None:
        """Say it on the pod, if that is still there."""
        metadata = {"uid": uid_of(pod), "annotations": {SAVING: saving.text()}}
        try:
            await self._client.patch(PODS, name_of(pod), {"metadata": metadata}, namespace_of(pod))
        except ApiError as error:
            # 409: another has its name by now.
            if error.code not in (404, 409):
                raise


def _reason(fault: Exception) -> str:
    return fault.reason if isinstance(fault, DiskFault) else "CopyFailed"


def _message(fault: Exception) -> str:
    match fault:
        case DiskFault():
            return str(fault)
        case OSError():
            return f"the copy cannot be written: {fault.strerror}; tried again from the beginning"
        case _:
            return f"{fault}; tried again from the beginning"
