"""The least provisioner of volumes: directories and loop devices of a node under test, as local volumes."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType

from ingot.api.cdi.names import SELECTED_NODE
from ingot.api.cdi.size import requested
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from machine.machine_support import HOSTNAME

# One makes volumes at once, the other when a pod that wants them has been given a node.
AT_ONCE, LATE = "at-once", "late"
_CLASSES = {AT_ONCE: "Immediate", LATE: "WaitForFirstConsumer"}


class Room:
    """Where the volumes of a node lie. Leave it when nobody uses them any more."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._devices: dict[str, Path] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Room:
        self._directory.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def place(self, claim: Object) -> Path:
        """The directory or device for a claim, always the same."""
        place = self._directory / uid_of(claim)
        if claim["spec"]["volumeMode"] == "Filesystem":
            place.mkdir(exist_ok=True)
            return place
        if uid_of(claim) not in self._devices:
            with place.open("wb") as file:
                file.truncate(requested(claim["spec"]))
            made = subprocess.run(["losetup", "--find", "--show", place], check=True, capture_output=True, text=True)
            device = self._devices[uid_of(claim)] = Path(made.stdout.strip())
            self._stack.callback(_detach, device)
        return self._devices[uid_of(claim)]


def _detach(device: Path) -> None:
    subprocess.run(["losetup", "--detach", device], check=True)


class Provisioner:
    """Makes a volume for each claim of the two classes that names no populator: those are none of its business."""

    def __init__(self, manager: Manager, node: str, room: Room) -> None:
        self._client, self._node, self._room = manager.client, node, room
        self._claims = manager.informer(VOLUME_CLAIMS)
        manager.add(Controller("provisioner", self.reconcile).watch(self._claims))

    async def reconcile(self, key: Key) -> None:
        claim = self._claims.cache.get(key)
        if claim is None or claim["spec"].get("volumeName") or "dataSourceRef" in claim["spec"]:
            return
        wanted = claim["spec"].get("storageClassName")
        if wanted == AT_ONCE or (wanted == LATE and SELECTED_NODE in (claim["metadata"].get("annotations") or {})):
            await _create(self._client, VOLUMES, f"pv-{uid_of(claim)}", spec=self._volume(claim))

    def _volume(self, claim: Object) -> Object:
        spec = claim["spec"]
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [self._node]}]}
        named = {each: claim["metadata"][each] for each in ("namespace", "name", "uid")}
        return {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "volumeMode": spec["volumeMode"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"apiVersion": "v1", "kind": VOLUME_CLAIMS.kind, **named},
            "local": {"path": str(self._room.place(claim))},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        }


@asynccontextmanager
async def provisioning(client: Client, node: str, room: Room) -> AsyncIterator[None]:
    """The provisioner at work, and its classes."""
    for name, mode in _CLASSES.items():
        await _create(client, STORAGE_CLASSES, name, provisioner="provisioner.ingot.test", volumeBindingMode=mode)
    manager, stop = Manager(client), asyncio.Event()
    Provisioner(manager, node, room)
    running = asyncio.create_task(manager.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def _create(client: Client, resource: Resource, name: str, **fields: object) -> None:
    try:
        await client.create(resource, {"metadata": {"name": name}, **fields})
    except ApiError as error:
        if error.code != 409:
            raise
