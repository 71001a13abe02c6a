"""Bringing one pod to its end, and leaving nothing of it on this machine."""

import asyncio
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from ingot.host.tree import remove_tree
from ingot.standalone.pods import oci
from ingot.standalone.pods.attempt import Attempt, attempts
from ingot.standalone.pods.containers import container_name
from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.mounts import unmount_below

_LOOK_SECONDS = 5.0
_VOLUMES = ("volumes", "volumeDevices")


class Ending:
    """Ends the containers of pods: asks them first, and kills them when their time is up."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._began: dict[str, float] = {}

    def running(self, uid: str) -> list[Attempt]:
        """The attempts of a pod that run."""
        containers = PodDirectory(self._root, uid).path / "containers"
        names = list(containers.iterdir()) if containers.exists() else []
        return [attempt for name in names for attempt in attempts(name) if attempt.process() is not None]

    def step(self, uid: str, grace: float) -> float:
        """Takes the pod's containers a step towards their end: how many seconds until the next; 0 when all ended."""
        alive = self.running(uid)
        if not alive:
            self._began.pop(uid, None)
            return 0.0
        now = time.monotonic()
        if uid not in self._began:
            self._began[uid] = now
            _signal(alive, signal.SIGTERM)
        left = self._began[uid] + grace - now
        if left <= 0:
            _signal(alive, signal.SIGKILL)
            return _LOOK_SECONDS
        return left

    async def release(self, uid: str) -> None:
        """Takes away the volumes of a pod whose containers have ended, and with them its secrets.

        Raises PodFault while a volume cannot be unmounted: its content is not touched.
        """
        path = PodDirectory(self._root, uid).path
        await self._forget(uid)
        for part in _VOLUMES:
            await unmount_below(path / part)
            await asyncio.to_thread(remove_tree, path / part)

    async def remove(self, uid: str) -> None:
        """Removes everything of a pod whose containers have ended."""
        place = PodDirectory(self._root, uid)
        if place.path.exists():
            await self.release(uid)
            await asyncio.to_thread(place.remove)

    async def _forget(self, uid: str) -> None:
        """Ends what podman may still run: a container lives on when its attempt's shell was killed."""
        containers = PodDirectory(self._root, uid).path / "containers"
        for name in containers.iterdir() if containers.exists() else ():
            for attempt in attempts(name):
                mark = attempt.directory / oci.MARK
                if mark.exists():
                    await oci.remove(container_name(uid, name.name, attempt))
                    mark.unlink(missing_ok=True)


def _signal(alive: Iterable[Attempt], number: int) -> None:
    for attempt in alive:
        attempt.signal(number)
