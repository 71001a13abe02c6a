"""Restores in place that come to nothing: what they deleted is said, and comes back by another one (F5)."""

from collections.abc import AsyncIterator

import pytest

from control.restore_world import (
    CONTROLLERS,
    begun,
    claims_of,
    complete,
    copy_instead,
    failure,
    in_places,
    replacement,
    saved,
    standing,
)
from control.storage_world import Storage, at_work
from control.world import World, instance
from eventual import eventually
from ingot.api.object import uid_of
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_VOLUMES,
    INSTANCES,
    MACHINE_RESTORES,
    MACHINES,
    VOLUME_CLAIMS,
)
from ingot.control.machine import Machines
from ingot.control.snapshots.restore import MachineRestores
from ingot.control.volumes.datavolumes import DataVolumes

IN_PLACE = {"volumeRestorePolicy": "InPlace"}


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


async def broken(lab: Storage) -> str:
    """A restore that has deleted the machine's claims, and then fails; what it says."""
    former = await lab.get(VOLUME_CLAIMS, "data")
    await begun(lab, **IN_PLACE, targetReadinessPolicy="FailImmediate")
    made = await replacement(lab, former)
    await start_by_hand(lab)
    message = await failure(lab)

    async def is_away() -> bool:
        return uid_of(made) not in (await standing(lab)).values()

    await eventually(is_away)
    await lab.until(MACHINES, "vm", lambda each: "restoreInProgress" not in each["status"])
    await lab.change(INSTANCES, "vm", {"metadata": {"finalizers": None}})
    await lab.gone_with_pod(INSTANCES, "vm")
    return message


async def start_by_hand(lab: Storage) -> None:
    """Somebody makes an instance in the machine's name, which lingers though the machine ends it at once."""
    made = instance("vm")
    made["metadata"]["finalizers"] = ["test.ingot.io/lingers"]
    await lab.create(INSTANCES, made)


@pytest.mark.parametrize("policy", ["InPlace", "RandomizeNames"])
async def test_what_was_deleted_for_a_restore_that_failed_is_said_and_restored_by_another(
    lab: Storage, policy: str
) -> None:
    await saved(lab, with_template=True)
    message = await broken(lab)
    assert "is running" in message
    assert 'deleted before that, to be restored in place: PersistentVolumeClaim "data", "vm-root"' in message
    assert 'another restore from VirtualMachineSnapshot "snap" brings back what that holds' in message
    again = await begun(lab, name="again", volumeRestorePolicy=policy)
    names = {"data": "data", "root": "vm-root"}
    if policy != "InPlace":
        names = {volume: f"restore-{uid_of(again)}-{volume}" for volume in names}
    done = await in_places(lab, "again", *names.values())
    assert not [each for each in done["status"]["restores"] if "replacedClaimUID" in each], "nothing was in the way"
    assert claims_of(await lab.get(MACHINES, "vm")) == names
    await lab.until(DATA_VOLUMES, names["root"], lambda each: (each.get("status") or {}).get("phase") == "Succeeded")


async def test_full_copies_too_are_restored_after_a_restore_that_failed(unwatched: Storage) -> None:
    """What tells how to fill a claim goes with each of them."""
    lab = unwatched
    await copy_instead(lab, "data")
    assert '"data", "vm-root"' in await broken(lab)

    async def is_swept() -> bool:
        return not (await lab.client.list(CLONE_SOURCES, lab.namespace))["items"]

    await eventually(is_swept)
    await begun(lab, name="again", **IN_PLACE)
    told = (await eventually(lambda: lab.get(VOLUME_CLAIMS, "data")))["spec"]["dataSourceRef"]["name"]
    assert (await lab.get(CLONE_SOURCES, told))["spec"]["source"]["name"] == "kept"
    for claim in ("data", "vm-root"):
        await lab.provision(claim)
    await complete(lab, "again")


async def test_a_restore_that_is_deleted_halfway_leaves_word_with_the_machine(lab: Storage) -> None:
    await saved(lab)
    former = await lab.get(VOLUME_CLAIMS, "data")
    await begun(lab, **IN_PLACE)
    await replacement(lab, former)
    await lab.client.delete(MACHINE_RESTORES, "back", lab.namespace)
    await lab.gone(MACHINE_RESTORES, "back")
    await lab.gone(VOLUME_CLAIMS, "data")
    await lab.heard("vm", "RestoreGivenUp")
    (message,) = await lab.messages("vm", "RestoreGivenUp")
    assert 'PersistentVolumeClaim "data"' in message
    await begun(lab, name="again", **IN_PLACE)
    await in_places(lab, "again", "data")
