"""Clones of snapshots on a real API server, also where the target is of another driver or volumeMode (G10)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest

from control.dying import Dying
from control.population import last_words
from control.storage_world import Storage, at_work
from control.world import World
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_VOLUMES,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.control.volumes.claim import DEFAULT_VIRT_CLASS
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.marks import annotation, phase_of
from ingot.control.volumes.populator import Populators
from ingot.control.volumes.snapshot_notes import SnapshotNotes
from ingot.control.writing import delete
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.kube.objects import condition


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, Populators, DataVolumes, SnapshotNotes) as storage:
        yield storage
    await storage.forget_clones()


@pytest.fixture
async def idle(bare: World) -> AsyncIterator[Storage]:
    """Storage, with nobody at work."""
    async with at_work(bare) as storage:
        yield storage
    await storage.forget_clones()


async def beside(lab: Storage) -> Storage:
    """The same storage in another namespace."""
    world = World(lab.client, f"beside-{uuid4().hex[:8]}", lab.clock)
    await lab.client.create(NAMESPACES, {"metadata": {"name": world.namespace}})
    await world.until(SERVICE_ACCOUNTS, "default", bool)
    other = Storage(world)
    other.fast, other.plain = lab.fast, lab.plain
    return other


async def shot(lab: Storage, mode: str = "Filesystem", storage_class: str = "", held: str = names.DISK) -> Object:
    """A snapshot of a claim of the class with snapshots, or another one of its driver."""
    await lab.claim("golden", storage_class, volumeMode=mode)
    await lab.change(VOLUME_CLAIMS, "golden", {"metadata": {"annotations": {names.CONTENT_TYPE: held}}})
    spec = {"source": {"persistentVolumeClaimName": "golden"}, "volumeSnapshotClassName": lab.fast}
    await lab.create(SNAPSHOTS, {"metadata": {"name": "shot"}, "spec": spec})
    return await lab.snapshotted("shot")


async def clone(lab: Storage, where: str = "", contentType: str = names.DISK, **storage: Any) -> Object:
    """The claim of a DataVolume that is a clone of the snapshot."""
    source = {"snapshot": {"namespace": where or lab.namespace, "name": "shot"}}
    spec = {"source": source, "storage": storage, "contentType": contentType}
    await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    return await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))


def restored_name(target: Object) -> str:
    return f"tmp-restored-{uid_of(target)}"


def pod_name(target: Object) -> str:
    return f"{names.CLONER_PREFIX}{names.prime_name(target)}"


async def copied(lab: Storage, target: Object, there: Storage | None = None) -> Object:
    """The storage restores the snapshot, and a kubelet runs the pod that copies that: the pod."""
    there = there or lab
    await there.provision(restored_name(target))
    pod = await eventually(lambda: there.get(PODS, pod_name(target)))
    await there.provision(names.prime_name(target))
    return await there.pod_status(pod, phase="Succeeded")


async def bound(lab: Storage, target: Object) -> None:
    """The binder: the target has the volume that it is given."""

    async def given() -> Object | None:
        volumes = (await lab.client.list(VOLUMES))["items"]
        return next(
            (each for each in volumes if (each["spec"].get("claimRef") or {}).get("uid") == uid_of(target)), None
        )

    volume = await eventually(given)
    assert volume is not None
    await lab.change(VOLUME_CLAIMS, "copy", {"spec": {"volumeName": name_of(volume)}})
    await lab.write(VOLUME_CLAIMS, "copy", {"phase": "Bound", "capacity": volume["spec"]["capacity"]})


async def nothing_between(lab: Storage) -> None:
    """Nothing is left of what was made to fill the claim."""

    async def look() -> bool:
        claims = {name_of(each) for each in (await lab.client.list(VOLUME_CLAIMS, lab.namespace))["items"]}
        await lab.end_pods()
        return claims <= {"golden", "copy"} and not (await lab.client.list(PODS, lab.namespace))["items"]

    await eventually(look)
    assert await lab.get(SNAPSHOTS, "shot"), "it is not ours to delete"


async def ended(lab: Storage, word: str) -> Object:
    """The DataVolume once it is in its last phase."""
    return await lab.until(DATA_VOLUMES, "copy", lambda each: phase_of(each) == word)


async def test_a_clone_that_is_to_have_no_holes_is_copied(lab: Storage) -> None:
    await shot(lab)
    source = {"snapshot": {"namespace": lab.namespace, "name": "shot"}}
    spec = {"source": source, "storage": {}, "preallocation": True}
    await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    pod = await copied(lab, target)
    assert "--preallocate" in pod["spec"]["containers"][0]["args"]
    await bound(lab, target)
    await ended(lab, "Succeeded")
    await nothing_between(lab)


@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_a_clone_without_a_word_is_as_the_snapshot(lab: Storage, mode: str) -> None:
    """Also where the default class is of a driver that cannot restore it."""
    mark = {"metadata": {"annotations": {DEFAULT_VIRT_CLASS: "true"}}}
    await lab.client.patch(STORAGE_CLASSES, lab.plain, mark)
    await shot(lab, mode)
    target = await clone(lab)
    assert (target["spec"]["storageClassName"], target["spec"]["volumeMode"]) == (lab.fast, mode)
    assert target["spec"]["resources"]["requests"]["storage"] == "1Gi"
    prime = await eventually(lambda: lab.get(VOLUME_CLAIMS, names.prime_name(target)))
    assert prime["spec"]["dataSource"]["name"] == "shot"
    assert await lab.is_gone(VOLUME_CLAIMS, restored_name(target))


@pytest.mark.parametrize(
    ("plain", "modes", "why"),
    [
        (True, ("Filesystem", "Filesystem"), "the source is provisioned by "),
        (False, ("Block", "Filesystem"), "volumeMode of the source is Block, of the target Filesystem"),
        (False, ("Filesystem", "Block"), "volumeMode of the source is Filesystem, of the target Block"),
    ],
)
async def test_what_storage_cannot_make_of_its_snapshot_is_restored_as_it_was_and_copied(
    lab: Storage, plain: bool, modes: tuple[str, str], why: str
) -> None:
    await shot(lab, modes[0])
    target = await clone(lab, storageClassName=lab.plain if plain else lab.fast, volumeMode=modes[1])
    restored = await eventually(lambda: lab.get(VOLUME_CLAIMS, restored_name(target)))
    assert restored["spec"]["dataSource"]["name"] == "shot"
    assert (restored["spec"]["storageClassName"], restored["spec"]["volumeMode"]) == (lab.fast, modes[0])
    assert restored["spec"]["resources"]["requests"]["storage"] == "1Gi"
    waiting = await lab.until(
        VOLUME_CLAIMS, "copy", lambda each: annotation(each, names.RUNNING_REASON) == "CloneSourceNotReady"
    )
    assert restored_name(target) in annotation(waiting, names.RUNNING_MESSAGE)
    assert await lab.is_gone(PODS, pod_name(target))
    (chosen,) = await eventually(lambda: lab.messages("copy", "CloneStrategySelected"))
    assert chosen.startswith(f"clone strategy copy: {why}")
    pod = await copied(lab, target)
    mounted = {each["name"]: each.get("persistentVolumeClaim") for each in pod["spec"]["volumes"]}
    assert mounted["source"] == {"claimName": restored_name(target), "readOnly": True}
    (container,) = pod["spec"]["containers"]
    assert container["args"][3] == worker_path(modes[0], source=True)
    assert container["args"][5] == worker_path(modes[1], source=False)
    await bound(lab, target)
    await ended(lab, "Succeeded")
    await nothing_between(lab)
    assert annotation(await lab.get(VOLUME_CLAIMS, "copy"), names.CLONE_TYPE) == "copy"


def worker_path(mode: str, *, source: bool) -> str:
    if mode == "Block":
        return names.SOURCE_DEVICE_PATH if source else names.DEVICE_PATH
    return f"{names.SOURCE_PATH if source else names.DATA_PATH}/{names.DISK_NAME}"


async def test_what_is_restored_for_its_first_consumer_is_restored_for_the_pod_that_copies(lab: Storage) -> None:
    late = f"late-{lab.namespace}"
    made = {
        "metadata": {"name": late},
        "provisioner": f"{lab.fast}.example",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await lab.client.create(STORAGE_CLASSES, made)
    await shot(lab, storage_class=late)
    target = await clone(lab, storageClassName=lab.plain)
    await eventually(lambda: lab.get(PODS, pod_name(target)))
    restored = await lab.get(VOLUME_CLAIMS, restored_name(target))
    assert (restored["spec"]["storageClassName"], phase_of(restored)) == (late, "Pending")
    await copied(lab, target)
    await bound(lab, target)
    await ended(lab, "Succeeded")
    await nothing_between(lab)
    await lab.client.delete(STORAGE_CLASSES, late)


async def files_shot(lab: Storage) -> None:
    """A snapshot of an archive's files, which notes that; the claim that it was taken of has gone."""
    await shot(lab, held=names.FILES)
    await lab.until(SNAPSHOTS, "shot", lambda each: annotation(each, names.CONTENT_TYPE) == names.FILES)
    await lab.client.delete(VOLUME_CLAIMS, "golden", lab.namespace)
    await lab.gone(VOLUME_CLAIMS, "golden")


async def test_of_the_snapshot_of_an_archive_all_files_are_copied(lab: Storage) -> None:
    await files_shot(lab)
    target = await clone(lab, contentType=names.FILES, storageClassName=lab.plain)
    (container,) = (await copied(lab, target))["spec"]["containers"]
    assert container["args"][container["args"].index("--content-type") + 1] == names.FILES


async def test_what_storage_makes_of_the_snapshot_of_an_archive_is_known_as_one(lab: Storage) -> None:
    await files_shot(lab)
    origin = {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": "shot"}
    await lab.create(CLONE_SOURCES, {"metadata": {"name": "from-shot"}, "spec": {"source": origin}})
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": lab.fast,
        "dataSourceRef": {"apiGroup": CLONE_SOURCES.group, "kind": CLONE_SOURCES.kind, "name": "from-shot"},
    }
    target = await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "copy"}, "spec": spec})
    await lab.provision(names.prime_name(target))
    await bound(lab, target)
    await lab.until(VOLUME_CLAIMS, "copy", lambda each: annotation(each, names.CONTENT_TYPE) == names.FILES)


async def test_a_volume_for_a_disk_is_none_for_the_snapshot_of_an_archive(lab: Storage) -> None:
    """As it is refused where the snapshot is there before."""
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    source = {"snapshot": {"namespace": lab.namespace, "name": "shot"}}
    spec = {"source": source, "pvc": {**wish, "storageClassName": lab.fast}}
    await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    await shot(lab, held=names.FILES)
    await lab.pass_time(6)
    failed = await ended(lab, "Failed")
    assert "spec.contentType: archive is expected" in (condition(failed, "Ready") or {})["message"]


async def test_a_snapshot_of_another_namespace_is_restored_there(lab: Storage) -> None:
    there = await beside(lab)
    await shot(there)
    target = await clone(lab, there.namespace, storageClassName=lab.plain)
    await copied(lab, target, there)
    await bound(lab, target)
    await ended(lab, "Succeeded")
    await nothing_between(there)


async def test_where_nothing_can_restore_it_the_volume_has_failed(lab: Storage) -> None:
    await shot(lab)
    await lab.client.delete(STORAGE_CLASSES, lab.fast)
    target = await clone(lab, storageClassName=lab.plain)
    failed = await ended(lab, "Failed")
    told = condition(failed, "Ready") or {}
    assert told["reason"] == "IncompatibleProvisioners"
    assert f"no StorageClass has the provisioner {lab.fast}.example: create one" in told["message"]
    assert json.loads(annotation(await lab.get(VOLUME_CLAIMS, "copy"), names.FAILURE))["reason"] == told["reason"]
    assert await lab.is_gone(VOLUME_CLAIMS, names.prime_name(target))
    await nothing_between(lab)
    await lab.client.create(STORAGE_CLASSES, {"metadata": {"name": lab.fast}, "provisioner": f"{lab.fast}.example"})


async def test_a_snapshot_whose_content_does_not_tell_a_mode_is_left_to_its_storage(lab: Storage) -> None:
    """It was taken before that was recorded."""
    taken = await shot(lab)
    content = await lab.client.get(SNAPSHOT_CONTENTS, taken["status"]["boundVolumeSnapshotContentName"])
    await lab.client.delete(SNAPSHOT_CONTENTS, name_of(content))
    del content["spec"]["sourceVolumeMode"]
    await lab.client.create(SNAPSHOT_CONTENTS, {**content, "metadata": {"name": name_of(content)}})
    target = await clone(lab, storageClassName=lab.fast, volumeMode="Block")
    prime = await eventually(lambda: lab.get(VOLUME_CLAIMS, names.prime_name(target)))
    assert prime["spec"]["dataSource"]["name"] == "shot"


async def test_what_has_been_restored_is_copied_though_the_snapshot_goes(lab: Storage) -> None:
    await shot(lab)
    target = await clone(lab, storageClassName=lab.plain)
    await eventually(lambda: lab.get(VOLUME_CLAIMS, restored_name(target)))
    await lab.client.delete(SNAPSHOTS, "shot", lab.namespace)
    await lab.gone(SNAPSHOTS, "shot")
    await copied(lab, target)
    await bound(lab, target)
    await ended(lab, "Succeeded")


@pytest.mark.parametrize("there", [False, True])
async def test_what_was_restored_goes_with_the_target(lab: Storage, there: bool) -> None:
    where = await beside(lab) if there else lab
    await shot(where)
    target = await clone(lab, where.namespace, storageClassName=lab.plain)
    await where.provision(restored_name(target))
    await eventually(lambda: where.get(PODS, pod_name(target)))
    await lab.client.delete(DATA_VOLUMES, "copy", lab.namespace)
    await delete(lab.client, VOLUME_CLAIMS, target)
    await nothing_between(where)


async def test_what_was_restored_goes_when_the_copy_has_failed(lab: Storage) -> None:
    await shot(lab)
    target = await clone(lab, storageClassName=lab.plain)
    await lab.provision(restored_name(target))
    pod = await eventually(lambda: lab.get(PODS, pod_name(target)))
    terminated = last_words("NoSpace", "the disk is larger than the volume", retry=False)
    worker = {"name": "worker", "image": "ingot", "imageID": "", "ready": False, "restartCount": 3}
    await lab.pod_status(pod, phase="Running", containerStatuses=[{**worker, "state": {"terminated": terminated}}])
    await ended(lab, "Failed")
    await nothing_between(lab)


@asynccontextmanager
async def controllers(storage: Storage, client: Client) -> AsyncIterator[None]:
    manager = Manager(client)
    for each in (Populators, DataVolumes):
        each(manager, storage.clock)
    running = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("writes", range(24))
async def test_a_clone_that_is_broken_off_is_finished_once(idle: Storage, writes: int) -> None:
    await shot(idle)

    async def finish() -> None:
        target = await clone(idle, storageClassName=idle.plain)
        await copied(idle, target)
        await bound(idle, target)
        await ended(idle, "Succeeded")

    ending = asyncio.ensure_future(finish())
    dying = Dying(idle.client, writes)
    async with controllers(idle, dying):
        death = asyncio.ensure_future(dying.died.wait())
        await asyncio.wait([ending, death], return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
    async with controllers(idle, idle.client):
        await ending
        await nothing_between(idle)
