"""The disks of a machine for a saver: through its running guest, or where they are while it does not run."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from ingot.api.snapshot.saving import saved_volumes
from ingot.host.descriptor import Descriptor
from ingot.kube.client import Client
from ingot.node import saving_target
from ingot.node.capture import CaptureFault, Captures
from ingot.node.record import Record, Records
from ingot.node.saver import Saver
from ingot.node.saving_source import Sources

Progress = Callable[[int, int], None]


class Disks:
    """Measures and copies."""

    def __init__(self, client: Client, kubelet: Path, records: Records, captures: Captures, sources: Sources) -> None:
        self._client = client
        self._kubelet = kubelet
        self._records = records
        self._captures = captures
        self._sources = sources

    def left(self) -> set[str]:
        """The uids of pods for which something may be held here."""
        return self._sources.left()

    async def clear(self, uid: str) -> None:
        """Lets go of all that is held for a pod."""
        await self._sources.clear(uid)

    async def look(self, saver: Saver) -> dict[str, int]:
        """How large the disks are, in bytes by volume. Those of a machine that does not run are held from now on.

        Raises DiskFault, CaptureFault, HypervisorError.
        """
        if saver.instance:
            names = [each["name"] for each in saver.volumes]
            return await self._captures.sizes(self._record(saver), names)
        found = await self._sources.find(saver.holder, saver.volumes)
        return {volume: disk.size for volume, disk in found.items()}

    async def copy(self, saver: Saver, progress: Progress) -> float:
        """Copies the disks as they are at one moment into the claims of the content; that moment, in s since 1970.

        A claim has its disk only when this returns. Raises as `look` does, and OSError for what is written to.
        """
        claims = saved_volumes(saver.content)
        targets = {
            volume: await saving_target.begin(volume, claims[volume], saver, self._kubelet, self._client)
            for volume in (str(each["name"]) for each in saver.volumes)
        }
        files: dict[str, Descriptor] = {volume: target.file for volume, target in targets.items()}
        if saver.instance:
            moment = await self._captures.take(self._record(saver), files, progress) / 1e9
        else:
            found = await self._sources.find(saver.holder, saver.volumes)
            moment = time.time()
            await self._sources.copy(saver.uid, found, files, progress)
        for target in targets.values():
            await asyncio.to_thread(target.publish)
        return moment

    def _record(self, saver: Saver) -> Record:
        """The guest that runs on the disks, which is the content's machine's and nobody else's."""
        record = self._records.get(saver.instance)
        if record is None or not record.started or record.key != saver.machine:
            raise CaptureFault(f"{saver.machine}: its guest does not run on this node")
        return record
