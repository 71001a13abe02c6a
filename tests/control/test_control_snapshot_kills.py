"""Controllers die after any of their writes: snapshots, restores and clones are finished by the next ones, once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from control.dying import Dying
from control.restore_world import complete, replacement
from control.storage_world import WHEN, Release, Storage
from control.world import World, machine, shown
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    CLONE_SOURCES,
    INSTANCES,
    MACHINE_RESTORES,
    MACHINE_SNAPSHOT_CONTENTS,
    MACHINE_SNAPSHOTS,
    MACHINES,
    PODS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.api.snapshot.saving import MEASURE, NOW, SAVER, SAVING, Saving, Stage
from ingot.control.machine import Machines
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.snapshots.restore import MachineRestores
from ingot.control.snapshots.snapshot import MachineSnapshots
from ingot.control.volumes.populator import Populators
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.kube.objects import controller_of

DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
MACHINE = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
ALL = (Machines, MachineSnapshots, SnapshotContents, MachineRestores, Populators)


@pytest.fixture
async def storage(bare: World) -> AsyncIterator[Storage]:
    made = Storage(bare)
    await made.furnish()
    yield made
    await made.clear()


@asynccontextmanager
async def at_work(storage: Storage, client: Client) -> AsyncIterator[None]:
    manager = Manager(client)
    for controller in (Release, *ALL):
        controller(manager, storage.clock)
    running = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def broken_off(storage: Storage, writes: int, finish: Callable[[], Awaitable[None]]) -> None:
    """It comes to its end, though those who work on it die after so many writes."""
    ending = asyncio.ensure_future(finish())
    dying = Dying(storage.client, writes)
    async with at_work(storage, dying):
        death = asyncio.ensure_future(dying.died.wait())
        await asyncio.wait([ending, death], return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
    async with at_work(storage, storage.client):
        await ending


async def begun(storage: Storage) -> Object:
    """A machine that does not run, and a snapshot of it that is asked for."""
    await storage.claim("data")
    await storage.create(MACHINES, machine("vm", "Halted", DATA))
    return await storage.create(MACHINE_SNAPSHOTS, {"metadata": {"name": "snap"}, "spec": {"source": MACHINE}})


async def taken(storage: Storage, snapshot: Object) -> None:
    await storage.snapshotted(f"vmsnapshot-{uid_of(snapshot)}-volume-data")
    await storage.until(MACHINE_SNAPSHOTS, "snap", lambda each: each.get("status", {}).get("phase") == "Succeeded")
    await storage.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in each.get("status", {}))


@pytest.mark.parametrize("writes", range(12))
async def test_a_snapshot_that_is_broken_off(storage: Storage, writes: int) -> None:
    snapshot = await begun(storage)
    await broken_off(storage, writes, lambda: taken(storage, snapshot))
    for resource in (SNAPSHOTS, MACHINE_SNAPSHOT_CONTENTS):
        assert len((await storage.client.list(resource, storage.namespace))["items"]) == 1
    free = await storage.get(MACHINES, "vm")
    assert not [each for each in free["metadata"]["finalizers"] if each.startswith("snapshot.")]


@pytest.mark.parametrize("writes", range(7, 14))
async def test_an_attempt_that_is_given_up_and_broken_off(storage: Storage, writes: int) -> None:
    """One disk is ready when the other one fails: nothing of that is in the snapshot. What comes before is as above."""
    await storage.claim("more")
    more = {"name": "more", "persistentVolumeClaim": {"claimName": "more"}}
    await storage.claim("data")
    await storage.create(MACHINES, machine("vm", "Halted", DATA, more))
    snapshot = await storage.create(MACHINE_SNAPSHOTS, {"metadata": {"name": "snap"}, "spec": {"source": MACHINE}})
    names = [f"vmsnapshot-{uid_of(snapshot)}-volume-{volume}" for volume in ("data", "more")]
    spoiled: set[str] = set()

    async def play() -> bool:
        """The storage, which cannot take the second one at first."""
        await storage.pass_time(1.0)
        first, second = [await storage.get(SNAPSHOTS, name) for name in names]
        taken_well = {"readyToUse": True, "creationTime": WHEN, "restoreSize": "1Gi"}
        await storage.write(SNAPSHOTS, names[0], taken_well)
        if not spoiled or uid_of(second) in spoiled:
            spoiled.update((uid_of(first), uid_of(second)))
            await storage.write(SNAPSHOTS, names[1], {"error": {"time": WHEN, "message": "disk on fire"}})
        else:
            await storage.write(SNAPSHOTS, names[1], {**taken_well, "error": None})
        found = await storage.get(MACHINE_SNAPSHOTS, "snap")
        return bool(found["status"]["readyToUse"])

    async def finish() -> None:
        await eventually(play)
        await storage.change(MACHINES, "vm", {"spec": {"runStrategy": "Always"}})
        await eventually(lambda: storage.get(INSTANCES, "vm"))
        await storage.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in each["status"])

    await broken_off(storage, writes, finish)
    listed = (await storage.client.list(SNAPSHOTS, storage.namespace))["items"]
    assert not spoiled & {uid_of(each) for each in listed}


@pytest.mark.parametrize("writes", range(12))
async def test_a_restore_that_is_broken_off(storage: Storage, writes: int) -> None:
    snapshot = await begun(storage)
    async with at_work(storage, storage.client):
        await taken(storage, snapshot)
    spec = {"target": MACHINE, "virtualMachineSnapshotName": "snap"}
    restore = await storage.create(MACHINE_RESTORES, {"metadata": {"name": "back"}, "spec": spec})
    claim = f"restore-{uid_of(restore)}-data"

    async def restored() -> None:
        await storage.provision(claim)
        await storage.until(MACHINE_RESTORES, "back", lambda each: each.get("status", {}).get("complete"))
        await storage.until(MACHINES, "vm", lambda each: "restoreInProgress" not in each.get("status", {}))

    await broken_off(storage, writes, restored)
    found = await storage.get(MACHINES, "vm")
    (volume,) = found["spec"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim
    made = await storage.get(VOLUME_CLAIMS, claim)
    assert (controller_of(made) or {})["uid"] == uid_of(found)
    listed = (await storage.client.list(VOLUME_CLAIMS, storage.namespace))["items"]
    assert {each["metadata"]["name"] for each in listed} == {"data", claim}


@pytest.mark.parametrize("writes", range(14))
async def test_a_restore_in_place_that_is_broken_off(storage: Storage, writes: int) -> None:
    snapshot = await begun(storage)
    async with at_work(storage, storage.client):
        await taken(storage, snapshot)
    former = await storage.get(VOLUME_CLAIMS, "data")
    spec = {"target": MACHINE, "virtualMachineSnapshotName": "snap", "volumeRestorePolicy": "InPlace"}
    await storage.create(MACHINE_RESTORES, {"metadata": {"name": "back"}, "spec": spec})

    async def restored() -> None:
        await replacement(storage, former)
        await storage.provision("data")
        await complete(storage)
        await storage.until(MACHINES, "vm", lambda each: "restoreInProgress" not in each.get("status", {}))

    await broken_off(storage, writes, restored)
    (plan,) = (await storage.get(MACHINE_RESTORES, "back"))["status"]["restores"]
    assert plan["replacedClaimUID"] == uid_of(former)
    made = await storage.get(VOLUME_CLAIMS, "data")
    assert (controller_of(made) or {})["uid"] == uid_of(await storage.get(MACHINES, "vm"))


@pytest.mark.parametrize("writes", range(6, 17, 2))
async def test_full_copies_that_are_broken_off(storage: Storage, writes: int) -> None:
    """What comes before is as with VolumeSnapshots."""
    mark = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    await storage.client.patch(STORAGE_CLASSES, storage.plain, mark)
    await storage.claim("data", storage.plain)
    await storage.create(MACHINES, shown(machine("vm", "Halted", DATA)))
    await storage.create(MACHINE_SNAPSHOTS, {"metadata": {"name": "snap"}, "spec": {"source": MACHINE}})

    async def play(pod: Object) -> None:
        """The node."""
        said = Saving(Stage.READY)
        if pod["metadata"]["labels"][SAVER] == MEASURE:
            said = Saving(Stage.MEASURED, sizes={"data": 1 << 30})
        elif NOW in pod["metadata"]["annotations"]:
            said = Saving(Stage.DONE, moment=WHEN, done=1, total=1)
        if pod["metadata"]["annotations"].get(SAVING) != said.text():
            await storage.change(PODS, pod["metadata"]["name"], {"metadata": {"annotations": {SAVING: said.text()}}})

    async def copied() -> bool:
        pods = (await storage.client.list(PODS, storage.namespace, label_selector=SAVER))["items"]
        for pod in pods:
            await play(pod)
        found = (await storage.get(MACHINE_SNAPSHOTS, "snap")).get("status") or {}
        return bool(found.get("readyToUse")) and not pods

    async def finish() -> None:
        await eventually(copied)
        await storage.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in each.get("status", {}))

    await broken_off(storage, writes, finish)
    content = (await storage.client.list(MACHINE_SNAPSHOT_CONTENTS, storage.namespace))["items"]
    assert [each["status"]["creationTime"] for each in content] == [WHEN]
    claims = (await storage.client.list(VOLUME_CLAIMS, storage.namespace))["items"]
    assert len(claims) == 2


@pytest.mark.parametrize("strategy", ["csi-clone", "snapshot"])
@pytest.mark.parametrize("writes", range(5))
async def test_a_clone_that_is_broken_off(storage: Storage, writes: int, strategy: str) -> None:
    mark = {"metadata": {"annotations": {names.CLONE_STRATEGY: strategy}}}
    await storage.client.patch(STORAGE_CLASSES, storage.fast, mark)
    await storage.claim("golden")
    origin = {"kind": "PersistentVolumeClaim", "name": "golden"}
    await storage.create(CLONE_SOURCES, {"metadata": {"name": "from-golden"}, "spec": {"source": origin}})
    reference = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeCloneSource", "name": "from-golden"}
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {**asked, "storageClassName": storage.fast, "dataSourceRef": reference}
    target = await storage.create(VOLUME_CLAIMS, {"metadata": {"name": "copy"}, "spec": spec})

    async def cloned() -> None:
        if strategy == "snapshot":
            await storage.snapshotted(f"tmp-snapshot-{uid_of(target)}")
        prime = await storage.provision(names.prime_name(target))
        volume = prime["spec"]["volumeName"]

        async def is_given() -> bool:
            found = await storage.client.get(VOLUMES, volume)
            return bool(found["spec"]["claimRef"]["uid"] == uid_of(target))

        await eventually(is_given)
        await storage.change(VOLUME_CLAIMS, "copy", {"spec": {"volumeName": volume}})
        await storage.write(VOLUME_CLAIMS, "copy", {"phase": "Bound", "capacity": {"storage": "1Gi"}})
        await storage.gone(VOLUME_CLAIMS, names.prime_name(target))
        await storage.gone(SNAPSHOTS, f"tmp-snapshot-{uid_of(target)}")
        await storage.until(VOLUME_CLAIMS, "copy", lambda each: each["metadata"]["annotations"].get(names.CLONE_TYPE))

    await broken_off(storage, writes, cloned)
