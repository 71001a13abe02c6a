"""Restores in place: only claims that are the machine's go, and only for what can be restored (F5)."""

from collections.abc import AsyncIterator

import pytest

from control.restore_world import (
    CONTROLLERS,
    begun,
    claims_of,
    copy_instead,
    failure,
    in_places,
    replacement,
    saved,
    standing,
    waits,
)
from control.storage_world import Storage, at_work
from control.world import World, machine
from ingot.api.cdi.names import PRE_POPULATED
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_VOLUMES,
    MACHINE_RESTORES,
    MACHINE_SNAPSHOT_CONTENTS,
    MACHINES,
    NAMESPACES,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.control.machine import Machines
from ingot.control.snapshots.restore import MachineRestores
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.kube.objects import condition, controller_of, is_true

IN_PLACE = {"volumeRestorePolicy": "InPlace"}
OTHER = {"name": "data", "persistentVolumeClaim": {"claimName": "other"}}


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, *CONTROLLERS) as storage:
        yield storage


@pytest.fixture
async def unwatched(bare: World) -> AsyncIterator[Storage]:
    """A machine with a snapshot, of which nobody notices when it loses something."""
    async with at_work(bare, *CONTROLLERS) as storage:
        await saved(storage, with_template=True)
    async with at_work(bare, Machines, DataVolumes, MachineRestores) as storage:
        yield storage


async def test_claims_are_restored_in_their_places(lab: Storage) -> None:
    await saved(lab, with_template=True)
    former = await lab.get(VOLUME_CLAIMS, "data")
    await begun(lab, **IN_PLACE)
    await replacement(lab, former)
    done = await in_places(lab, "back", "data", "vm-root")
    assert done["status"]["deletedDataVolumes"] == []
    assert {each["volumeName"]: each.get("replacedClaimUID") for each in done["status"]["restores"]}["data"] == uid_of(
        former
    )
    assert claims_of(await lab.get(MACHINES, "vm")) == {"data": "data", "root": "vm-root"}
    await lab.until(DATA_VOLUMES, "vm-root", lambda each: (each.get("status") or {}).get("phase") == "Succeeded")
    owned = await lab.until(
        VOLUME_CLAIMS, "vm-root", lambda each: (controller_of(each) or {}).get("kind") == "DataVolume"
    )
    assert owned


async def test_a_clone_from_another_namespace_is_restored_in_its_place(lab: Storage) -> None:
    """What it was cloned from is neither asked for again, nor needed."""
    namespace = f"{lab.namespace}-golden"
    await lab.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    elsewhere = Storage(World(lab.client, namespace, lab.clock))
    elsewhere.fast = lab.fast
    await elsewhere.claim("golden")
    await saved(lab, with_template=True, content={"pvc": {"namespace": namespace, "name": "golden"}})
    former = await lab.get(VOLUME_CLAIMS, "vm-root")
    await begun(lab, **IN_PLACE)
    await replacement(lab, former)
    restoring = await lab.until(DATA_VOLUMES, "vm-root", lambda each: not is_true(each, "Ready"))
    assert restoring["status"]["phase"] == "Succeeded"
    await in_places(lab, "back", "data", "vm-root")
    done = await lab.until(DATA_VOLUMES, "vm-root", lambda each: is_true(each, "Ready"))
    claim = await lab.get(VOLUME_CLAIMS, "vm-root")
    assert (controller_of(claim) or {})["uid"] == uid_of(done)
    # It is good for no other filling, also for one who takes the mark away.
    await lab.delete_claim("vm-root")
    await lab.until(DATA_VOLUMES, "vm-root", lambda each: not is_true(each, "Ready"))
    await lab.change(DATA_VOLUMES, "vm-root", {"metadata": {"annotations": {PRE_POPULATED: None}}})
    failed = await lab.until(DATA_VOLUMES, "vm-root", lambda each: each["status"]["phase"] == "Failed")
    assert (condition(failed, "Ready") or {})["reason"] == "CloneRightNotAsked"


async def test_a_machine_that_is_deleted_meanwhile_comes_back(lab: Storage) -> None:
    await saved(lab, with_template=True)
    await begun(lab)
    restored = await lab.until(MACHINE_RESTORES, "back", lambda each: (each.get("status") or {}).get("restores"))
    names = [each["persistentVolumeClaim"] for each in restored["status"]["restores"]]
    await lab.client.delete(MACHINES, "vm", lab.namespace)
    await lab.gone(MACHINES, "vm")
    await in_places(lab, "back", *names)
    found = await lab.get(MACHINES, "vm")
    assert sorted(claims_of(found).values()) == sorted(names)
    for name in names:
        assert (controller_of(await lab.get(VOLUME_CLAIMS, name)) or {})["uid"] == uid_of(found)


async def test_a_new_machine_does_not_take_the_places_of_the_old_one(lab: Storage) -> None:
    await saved(lab, "Always")
    await lab.run("vm")
    before = await standing(lab)
    await begun(lab, "copy", **IN_PLACE)
    message = await failure(lab)
    assert "spec.volumeRestorePolicy: InPlace" in message
    assert 'VirtualMachine "vm"' in message
    assert "RandomizeNames or PrefixTargetName" in message
    assert await standing(lab) == before
    assert await lab.is_gone(MACHINES, "copy")


async def test_nor_does_one_that_has_its_name_by_now(lab: Storage) -> None:
    await saved(lab)
    before = await standing(lab)
    await lab.client.delete(MACHINES, "vm", lab.namespace)
    await lab.gone(MACHINES, "vm")
    await lab.create(
        MACHINES, machine("vm", "Halted", {"name": "data", "persistentVolumeClaim": {"claimName": "data"}})
    )
    await begun(lab, **IN_PLACE)
    assert "spec.volumeRestorePolicy: InPlace" in await failure(lab)
    assert await standing(lab) == before


async def test_a_machine_that_is_gone_comes_back_where_nothing_is_in_the_way(lab: Storage) -> None:
    await saved(lab)
    before = await standing(lab)
    await lab.client.delete(MACHINES, "vm", lab.namespace)
    await lab.gone(MACHINES, "vm")
    await begun(lab, name="early", **IN_PLACE)
    assert '"vm" does not stand on it now: delete it' in await failure(lab, "early")
    assert await standing(lab) == before
    await lab.client.delete(VOLUME_CLAIMS, "data", lab.namespace)
    await lab.gone(VOLUME_CLAIMS, "data")
    await begun(lab, **IN_PLACE)
    await in_places(lab, "back", "data")
    assert claims_of(await lab.get(MACHINES, "vm")) == {"data": "data"}


@pytest.mark.parametrize("name", ["of-somebody", "vm-root"])
async def test_a_name_that_is_given_deletes_nothing(lab: Storage, name: str) -> None:
    """Neither anybody's claim, nor another one of the machine's own."""
    await saved(lab, with_template=True)
    await lab.claim("of-somebody")
    before = await standing(lab)
    await begun(lab, **IN_PLACE, volumeRestoreOverrides=[{"volumeName": "data", "restoreName": name}])
    message = await failure(lab)
    assert f'"{name}" exists already' in message
    assert 'only the claim that it was saved from, "data"' in message
    assert "spec.volumeRestoreOverrides" in message
    assert await standing(lab) == before


async def test_a_name_that_is_given_may_be_free_or_the_old_one(lab: Storage) -> None:
    await saved(lab)
    before = await standing(lab)
    await begun(lab, name="first", **IN_PLACE, volumeRestoreOverrides=[{"volumeName": "data", "restoreName": "data"}])
    await replacement(lab, {"metadata": {"name": "data", "uid": before["data"]}})
    await in_places(lab, "first", "data")
    before = await standing(lab)
    await begun(lab, name="second", **IN_PLACE, volumeRestoreOverrides=[{"volumeName": "data", "restoreName": "free"}])
    await in_places(lab, "second", "free")
    assert before.items() < (await standing(lab)).items()


async def test_what_the_machine_does_not_stand_on_any_more_stays(lab: Storage) -> None:
    await saved(lab)
    await lab.claim("other")
    before = await standing(lab)
    await lab.change(MACHINES, "vm", {"spec": {"template": {"spec": {"volumes": [OTHER]}}}})
    await begun(lab, **IN_PLACE)
    assert '"vm" does not stand on it now' in await failure(lab)
    assert await standing(lab) == before


@pytest.mark.parametrize("state", ["gone", "not-ready", "of-somebody"])
async def test_nothing_goes_before_all_is_there_to_restore_from(unwatched: Storage, state: str) -> None:
    lab, before = unwatched, await standing(unwatched)
    (content,) = (await lab.client.list(MACHINE_SNAPSHOT_CONTENTS, lab.namespace))["items"]
    # Of the last volume: those before it could be restored.
    name = content["spec"]["volumeBackups"][-1]["volumeSnapshotName"]
    if state == "gone":
        await lab.client.delete(SNAPSHOTS, name, lab.namespace)
    elif state == "not-ready":
        await lab.write(SNAPSHOTS, name, {"readyToUse": False})
    else:
        await lab.change(SNAPSHOTS, name, {"metadata": {"ownerReferences": None}})
    await begun(lab, **IN_PLACE)
    if state == "not-ready":
        await waits(lab, f'"{name}" cannot be used now')
    else:
        message = await failure(lab)
        assert f'"{name}" is gone' in message
        assert "deleted before that" not in message
    assert await standing(lab) == before


@pytest.mark.parametrize("code", [400, 403, 422])
async def test_a_source_that_is_refused_is_told_before_anything_goes(
    unwatched: Storage, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    lab, create, refuses = unwatched, unwatched.client.create, True
    await copy_instead(lab, "root")
    before = await standing(lab)

    async def refusing(resource: Resource, obj: Object) -> Object:
        if resource == CLONE_SOURCES and refuses:
            raise ApiError(code, "", "no such sources here")
        return await create(resource, obj)

    monkeypatch.setattr(lab.client, "create", refusing)
    await begun(lab, **IN_PLACE)
    told = await waits(lab, "was refused: no such sources here; tried again")
    assert (condition(told, "Ready") or {})["reason"] == "FailedCreate"
    assert await standing(lab) == before
    refuses = False
    data = await lab.get(VOLUME_CLAIMS, "data")
    await replacement(lab, data)
