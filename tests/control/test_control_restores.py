"""Machines that go back to a snapshot, and machines made of one, on a real API server (F5)."""

from collections.abc import AsyncIterator

import pytest

from control.restore_world import (
    CONTROLLERS,
    begun,
    claims_of,
    complete,
    failure,
    is_from_snapshot,
    saved,
    waits,
)
from control.storage_world import Storage, at_work
from control.world import World, machine
from eventual import eventually
from ingot.api.object import uid_of
from ingot.api.resources import (
    DATA_VOLUMES,
    INSTANCES,
    MACHINE_RESTORES,
    MACHINES,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.kube.objects import condition, controller_of

LONG = 1e10


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, *CONTROLLERS) as storage:
        yield storage


async def test_a_machine_goes_back(lab: Storage) -> None:
    made = await saved(lab, with_template=True)
    changed = {"domain": {"memory": {"guest": "128Mi"}}}
    await lab.change(MACHINES, "vm", {"spec": {"template": {"spec": changed}}})
    restore = await begun(lab)
    root, data = (f"restore-{uid_of(restore)}-{volume}" for volume in ("root", "data"))
    for claim in (root, data):
        await lab.until(VOLUME_CLAIMS, claim, is_from_snapshot)
    before = await lab.get(MACHINES, "vm")
    assert claims_of(before) == {"data": "data", "root": "vm-root"}, "nothing changes until all is there"
    assert before["status"]["restoreInProgress"] == "back"
    await lab.provision(root)
    await lab.provision(data)

    done = await complete(lab)
    after = await lab.until(MACHINES, "vm", lambda each: "restoreInProgress" not in each.get("status", {}))
    assert claims_of(after) == {"data": data, "root": root}
    assert after["spec"]["template"]["spec"]["domain"] == made["spec"]["template"]["spec"]["domain"]
    assert after["metadata"]["annotations"]["restore.kubevirt.io/lastRestoreUID"] == uid_of(restore)
    assert {each["volumeName"]: each["persistentVolumeClaim"] for each in done["status"]["restores"]} == claims_of(
        after
    )
    assert done["status"]["deletedDataVolumes"] == ["vm-root"]
    assert done["status"]["restoreTime"]
    assert (condition(done, "Ready") or {})["status"] == "True"
    assert (controller_of(await lab.get(VOLUME_CLAIMS, data)) or {})["uid"] == uid_of(after)
    volume = await lab.until(DATA_VOLUMES, root, lambda each: (each.get("status") or {}).get("phase") == "Succeeded")
    assert (controller_of(volume) or {})["uid"] == uid_of(after)
    await lab.gone(DATA_VOLUMES, "vm-root")
    assert (await lab.get(VOLUME_CLAIMS, "data"))["metadata"].get("deletionTimestamp") is None
    await lab.heard("back", "VirtualMachineRestoreComplete")

    await lab.client.delete(MACHINE_RESTORES, "back", lab.namespace)
    await lab.gone(MACHINE_RESTORES, "back")
    assert await lab.get(VOLUME_CLAIMS, data), "what the machine stands on outlives the restore"


async def test_a_machine_that_runs_is_refused_until_it_is_stopped(lab: Storage) -> None:
    await saved(lab, "Always")
    await lab.run("vm")
    await lab.printed("vm", "Running")
    restore = await begun(lab, patches=['{"op": "add", "path": "/metadata/labels/made", "value": "by-restore"}'])
    waiting = await waits(lab, '"vm" is running: stop it')
    assert "restores" not in waiting["status"]
    assert "restoreInProgress" not in (await lab.get(MACHINES, "vm"))["status"]
    await lab.change(MACHINES, "vm", {"spec": {"runStrategy": "Halted"}})
    await lab.end("vm")
    await lab.gone_with_pod(INSTANCES, "vm")
    await lab.provision(f"restore-{uid_of(restore)}-data")
    await complete(lab)
    after = await lab.get(MACHINES, "vm")
    assert after["spec"]["runStrategy"] == "Halted"
    # As with KubeVirt, patches are for a machine that the restore makes.
    await lab.heard("back", "PatchesIgnored")
    assert "made" not in after["metadata"].get("labels", {})


async def test_policies_for_a_machine_that_runs(lab: Storage) -> None:
    await saved(lab, "Always")
    await lab.run("vm")
    await begun(lab, name="at-once", targetReadinessPolicy="FailImmediate")
    assert "stop it" in await failure(lab, "at-once")
    await begun(lab, name="patient", targetReadinessPolicy="WaitEventually")
    await waits(lab, "is running", "patient")
    await begun(lab, name="later")
    await waits(lab, "gives up at", "later")
    await lab.pass_time(LONG)
    assert "was not stopped within 300 s" in await failure(lab, "later")
    assert not condition(await lab.get(MACHINE_RESTORES, "patient"), "Failure")
    await lab.client.delete(MACHINE_RESTORES, "patient", lab.namespace)

    await begun(lab, name="stops", targetReadinessPolicy="StopTarget")
    await lab.until(MACHINES, "vm", lambda each: each["spec"]["runStrategy"] == "Halted")
    await waits(lab, "being stopped", "stops")


async def test_a_new_machine_is_made(lab: Storage) -> None:
    await saved(lab, with_template=True)
    patch = '{"op": "add", "path": "/metadata/labels/made", "value": "by-restore"}'
    restore = await begun(lab, "copy", patches=[patch])
    for volume in ("root", "data"):
        await lab.provision(f"restore-{uid_of(restore)}-{volume}")
    await complete(lab)
    copy = await lab.printed("copy", "Stopped")
    assert copy["metadata"]["labels"]["made"] == "by-restore"
    assert copy["spec"]["runStrategy"] == "Halted"
    assert claims_of(copy) == {each: f"restore-{uid_of(restore)}-{each}" for each in ("data", "root")}
    assert claims_of(await lab.get(MACHINES, "vm")) == {"data": "data", "root": "vm-root"}
    assert not (await lab.get(DATA_VOLUMES, "vm-root"))["metadata"].get("deletionTimestamp")
    await lab.client.delete(MACHINES, "copy", lab.namespace)
    await lab.gone(VOLUME_CLAIMS, f"restore-{uid_of(restore)}-data")


async def test_another_machine_is_not_overwritten(lab: Storage) -> None:
    await saved(lab)
    await lab.create(MACHINES, machine("other", "Halted"))
    await begun(lab, "other")
    assert "does not exist yet" in await failure(lab)
    assert "restoreInProgress" not in ((await lab.get(MACHINES, "other")).get("status") or {})


async def test_a_machine_does_not_start_on_half_of_its_disks(lab: Storage) -> None:
    await saved(lab, "Manual")
    restore = await begun(lab)
    await lab.until(MACHINES, "vm", lambda each: each.get("status", {}).get("restoreInProgress"))
    await lab.ask("vm", {"action": "Start"})
    told = await lab.until(MACHINES, "vm", lambda each: condition(each, "Failure"))
    assert (condition(told, "Failure") or {})["reason"] == "RestoreInProgress"
    assert await lab.is_gone(INSTANCES, "vm")
    await lab.provision(f"restore-{uid_of(restore)}-data")
    await complete(lab)
    started = await eventually(lambda: lab.get(INSTANCES, "vm"))
    (volume,) = started["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == f"restore-{uid_of(restore)}-data"


async def test_a_restore_that_is_given_up_leaves_the_machine_as_it_was(lab: Storage) -> None:
    before = await saved(lab)
    restore = await begun(lab)
    claim = f"restore-{uid_of(restore)}-data"
    await eventually(lambda: lab.get(VOLUME_CLAIMS, claim))
    await lab.client.delete(MACHINE_RESTORES, "back", lab.namespace)
    await lab.gone(MACHINE_RESTORES, "back")
    await lab.gone(VOLUME_CLAIMS, claim)
    after = await lab.until(MACHINES, "vm", lambda each: "restoreInProgress" not in each.get("status", {}))
    assert after["spec"] == before["spec"]


async def test_a_snapshot_that_is_not_there_is_waited_for_and_one_that_lost_a_volume_is_refused(lab: Storage) -> None:
    await begun(lab)
    await waits(lab, '"snap" does not exist')
    await saved(lab)
    await lab.until(MACHINE_RESTORES, "back", lambda each: (each.get("status") or {}).get("restores"))
    (one,) = (await lab.client.list(SNAPSHOTS, lab.namespace))["items"]
    await lab.client.delete(SNAPSHOTS, one["metadata"]["name"], lab.namespace)
    await begun(lab, "copy", name="late")
    await waits(lab, "is not ready", "late")
