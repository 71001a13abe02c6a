"""Snapshots of machines on a real API server, with storage that does what a test tells it (F5)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from control.storage_world import WHEN, Storage, at_work
from control.world import World, machine, shown
from eventual import eventually
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOT_CONTENTS, MACHINE_SNAPSHOTS, MACHINES, SNAPSHOTS
from ingot.control.instance import Instances
from ingot.control.machine import Machines
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.snapshots.snapshot import MachineSnapshots
from ingot.kube.objects import condition

DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
MORE = {"name": "more", "persistentVolumeClaim": {"claimName": "more"}}
SEED = {"name": "seed", "cloudInitNoCloud": {"userData": "#"}}
SCRATCH = {"name": "scratch", "emptyDisk": {"capacity": "1Gi"}}
REMOTE = {"name": "remote", "networkVolume": {"uri": "nbd://far.example/disk", "readOnly": False, "format": "raw"}}
LONG = 1e10


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, Machines, Instances, MachineSnapshots, SnapshotContents) as storage:
        yield storage


async def taken(lab: Storage, name: str = "snap", **spec: Any) -> Object:
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    return await lab.create(MACHINE_SNAPSHOTS, {"metadata": {"name": name}, "spec": {"source": source, **spec}})


async def reached(lab: Storage, phase: str, name: str = "snap") -> Object:
    return await lab.until(MACHINE_SNAPSHOTS, name, lambda each: (each.get("status") or {}).get("phase") == phase)


def volume_snapshot(snapshot: Object, volume: str = "data") -> str:
    return f"vmsnapshot-{uid_of(snapshot)}-volume-{volume}"


def content(snapshot: Object) -> str:
    return f"vmsnapshot-content-{uid_of(snapshot)}"


async def test_a_snapshot_of_a_machine_that_does_not_run(lab: Storage) -> None:
    await lab.claim("data")
    made = await lab.create(MACHINES, shown(machine("vm", "Halted", DATA, SEED, SCRATCH, REMOTE)))
    snapshot = await taken(lab)
    held = await lab.until(MACHINES, "vm", lambda each: each.get("status", {}).get("snapshotInProgress"))
    assert held["status"]["snapshotInProgress"] == "snap"
    one = await eventually(lambda: lab.get(SNAPSHOTS, volume_snapshot(snapshot)))
    assert one["spec"]["source"] == {"persistentVolumeClaimName": "data"}
    assert one["spec"]["volumeSnapshotClassName"] == lab.fast
    waiting = await reached(lab, "InProgress")
    assert waiting["status"]["readyToUse"] is False

    await lab.snapshotted(volume_snapshot(snapshot))
    done = (await reached(lab, "Succeeded"))["status"]
    assert (done["readyToUse"], done["sourceUID"]) == (True, uid_of(made))
    assert done["virtualMachineSnapshotContentName"] == content(snapshot)
    assert done["snapshotVolumes"]["includedVolumes"] == ["data"]
    assert done["snapshotVolumes"]["excludedVolumes"] == ["seed", "scratch", "remote"]
    assert done["indications"] == ["PartialSnapshot"]
    assert [each["status"] for each in done["conditions"] if each["type"] == "Ready"] == ["True"]
    assert [each["status"] for each in done["conditions"] if each["type"] == "Progressing"] == ["False"]
    kept = await lab.get(MACHINE_SNAPSHOT_CONTENTS, content(snapshot))
    assert kept["spec"]["source"]["virtualMachine"]["spec"] == made["spec"]
    assert kept["spec"]["volumeBackups"][0]["persistentVolumeClaim"]["metadata"]["name"] == "data"
    free = await lab.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in each.get("status", {}))
    assert not [each for each in free["metadata"]["finalizers"] if each.startswith("snapshot.")]
    for reason in ("VolumeExcluded", "SuccessfulVirtualMachineSnapshotContentCreate"):
        await lab.heard("snap", reason)


async def test_what_is_left_out_is_said_with_the_reason(lab: Storage) -> None:
    await lab.claim("data", lab.plain)
    await lab.create(MACHINES, shown(machine("vm", "Halted", DATA, REMOTE)))
    await taken(lab)
    done = await reached(lab, "Succeeded")
    assert done["status"]["snapshotVolumes"]["excludedVolumes"] == ["data", "remote"]

    async def said() -> bool:
        messages = await lab.messages("snap", "VolumeExcluded")
        return any("VolumeSnapshotClass with driver" in each for each in messages) and any(
            "reaches a networkVolume, and there is no default StorageClass" in each for each in messages
        )

    await eventually(said)


async def test_a_machine_that_runs_is_as_after_a_power_cut(lab: Storage) -> None:
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Always", DATA))
    await lab.run("vm")
    await lab.printed("vm", "Running")
    snapshot = await taken(lab)
    await lab.snapshotted(volume_snapshot(snapshot))
    done = await reached(lab, "Succeeded")
    assert done["status"]["indications"] == ["Online", "NoGuestAgent"]
    assert all(each["message"] for each in done["status"]["sourceIndications"])


async def test_a_machine_is_waited_for_until_the_deadline(lab: Storage) -> None:
    await taken(lab)
    waiting = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: condition(each, "Progressing"))
    assert '"vm" does not exist' in (condition(waiting, "Progressing") or {})["message"]
    await lab.pass_time(LONG)
    failed = await reached(lab, "Failed")
    assert "deadline exceeded" in failed["status"]["error"]["message"]
    assert (condition(failed, "Failure") or {})["status"] == "True"
    await lab.create(MACHINES, machine("vm", "Halted"))
    await lab.quiet("vm")
    assert (await lab.get(MACHINE_SNAPSHOTS, "snap"))["status"]["phase"] == "Failed"


async def test_storage_that_fails_until_the_deadline_leaves_nothing(lab: Storage) -> None:
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Halted", DATA))
    snapshot = await taken(lab)
    await lab.snapshotted(volume_snapshot(snapshot), error={"time": "2023-11-14T22:13:20Z", "message": "disk on fire"})
    waiting = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: (each.get("status") or {}).get("error"))
    assert "disk on fire" in waiting["status"]["error"]["message"]
    await lab.pass_time(LONG)
    await reached(lab, "Failed")
    await lab.gone(MACHINE_SNAPSHOT_CONTENTS, content(snapshot))
    await lab.gone(SNAPSHOTS, volume_snapshot(snapshot))
    await lab.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in each.get("status", {}))


async def test_a_machine_does_not_start_while_its_disks_are_to_be_of_one_moment(lab: Storage) -> None:
    await lab.claim("data")
    await lab.claim("more")
    await lab.create(MACHINES, machine("vm", "Manual", DATA, MORE))
    snapshot = await taken(lab)
    await lab.snapshotted(volume_snapshot(snapshot))
    await lab.ask("vm", {"action": "Start"})
    told = await lab.until(MACHINES, "vm", lambda each: condition(each, "Failure"))
    fault = condition(told, "Failure") or {}
    assert (fault["reason"], '"snap"' in fault["message"]) == ("SnapshotInProgress", True)
    assert await lab.is_gone(INSTANCES, "vm")
    await lab.snapshotted(volume_snapshot(snapshot, "more"))
    await reached(lab, "Succeeded")
    await eventually(lambda: lab.get(INSTANCES, "vm"))
    freed = await lab.until(MACHINES, "vm", lambda each: not condition(each, "Failure"))
    assert freed["status"]["created"] is True


async def test_a_guest_that_ends_while_it_is_snapshotted_starts_again(lab: Storage) -> None:
    """Storage that does not come to its snapshots keeps no machine from running that did."""
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Always", DATA))
    former = await lab.run("vm")
    await lab.printed("vm", "Running")
    snapshot = await taken(lab)
    await eventually(lambda: lab.get(SNAPSHOTS, volume_snapshot(snapshot)))
    await lab.end("vm")
    await lab.successor("vm", former)
    assert (await lab.get(MACHINE_SNAPSHOTS, "snap"))["status"]["phase"] == "InProgress"


async def is_given_up(lab: Storage) -> bool:
    """Time passes until it is: storage may yet overcome an error that is new."""
    await lab.pass_time(1.0)
    error = (await lab.get(MACHINE_SNAPSHOTS, "snap"))["status"].get("error") or {}
    return "disk on fire; it would be of another moment than the others" in error.get("message", "")


async def test_an_error_that_storage_overcomes_spoils_nothing(lab: Storage) -> None:
    for name in ("data", "more"):
        await lab.claim(name)
    await lab.create(MACHINES, machine("vm", "Halted", DATA, MORE))
    snapshot = await taken(lab)
    names = [volume_snapshot(snapshot, volume) for volume in ("data", "more")]
    former = [await lab.snapshotted(names[0]), await eventually(lambda: lab.get(SNAPSHOTS, names[1]))]
    await lab.snapshotted(names[1], error={"time": WHEN, "message": "timed out"})
    told = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: (each.get("status") or {}).get("error"))
    assert told["status"]["error"]["message"] == f"VolumeSnapshot {names[1]} error: timed out"
    await lab.snapshotted(names[1], readyToUse=True, creationTime=WHEN, error=None)
    assert "error" not in (await reached(lab, "Succeeded"))["status"]
    assert [uid_of(await lab.get(SNAPSHOTS, name)) for name in names] == [uid_of(each) for each in former]


@pytest.mark.parametrize("gone", [False, True], ids=["failed", "deleted"])
async def test_what_is_left_of_a_moment_is_thrown_away_and_all_is_made_anew(lab: Storage, gone: bool) -> None:
    await lab.claim("data")
    await lab.claim("more")
    await lab.create(MACHINES, machine("vm", "Halted", DATA, MORE))
    snapshot = await taken(lab)
    names = [volume_snapshot(snapshot, volume) for volume in ("data", "more")]
    former = [await lab.snapshotted(names[0]), await eventually(lambda: lab.get(SNAPSHOTS, names[1]))]
    if gone:
        await lab.client.delete(SNAPSHOTS, names[1], lab.namespace)
    else:
        await lab.snapshotted(names[1], error={"time": WHEN, "message": "disk on fire"})
        await eventually(lambda: is_given_up(lab))

    async def is_another(name: str, before: Object) -> bool:
        await lab.pass_time(1.0)
        return uid_of(await lab.get(SNAPSHOTS, name)) != uid_of(before)

    for name, before in zip(names, former, strict=True):
        await eventually(lambda name=name, before=before: is_another(name, before))
    assert (await lab.get(MACHINE_SNAPSHOTS, "snap"))["status"]["phase"] == "InProgress"
    for name in names:
        await lab.snapshotted(name)
    done = await reached(lab, "Succeeded")
    assert "error" not in done["status"]


async def test_why_an_attempt_was_given_up_is_told_while_it_is_cleared_away(lab: Storage) -> None:
    for name in ("data", "more"):
        await lab.claim(name)
    await lab.create(MACHINES, machine("vm", "Halted", DATA, MORE))
    snapshot = await taken(lab)
    first, second = [volume_snapshot(snapshot, volume) for volume in ("data", "more")]
    await lab.snapshotted(first)
    await lab.change(SNAPSHOTS, first, {"metadata": {"finalizers": ["example.com/slow"]}})
    await lab.snapshotted(second, error={"time": WHEN, "message": "disk on fire"})
    await eventually(lambda: is_given_up(lab))
    await lab.gone(SNAPSHOTS, second)
    for _ in range(5):
        assert await is_given_up(lab)
    await lab.change(SNAPSHOTS, first, {"metadata": {"finalizers": None}})


async def test_a_snapshot_waits_for_another_one(lab: Storage) -> None:
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Halted", DATA))
    first = await taken(lab, "first")
    await lab.until(MACHINES, "vm", lambda each: each.get("status", {}).get("snapshotInProgress") == "first")
    second = await taken(lab, "second")
    waiting = await lab.until(MACHINE_SNAPSHOTS, "second", lambda each: condition(each, "Progressing"))
    assert '"first"' in (condition(waiting, "Progressing") or {})["message"]
    await lab.snapshotted(volume_snapshot(first))
    await reached(lab, "Succeeded", "first")
    await lab.snapshotted(volume_snapshot(second))
    await reached(lab, "Succeeded", "second")


async def test_a_machine_stays_while_a_snapshot_is_made(lab: Storage) -> None:
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Halted", DATA))
    snapshot = await taken(lab)
    await eventually(lambda: lab.get(SNAPSHOTS, volume_snapshot(snapshot)))
    await lab.client.delete(MACHINES, "vm", lab.namespace)
    await lab.until(MACHINES, "vm", lambda each: len(each["metadata"]["finalizers"]) == 1)
    await lab.snapshotted(volume_snapshot(snapshot))
    await reached(lab, "Succeeded")
    await lab.gone(MACHINES, "vm")


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
async def test_what_goes_with_a_snapshot(lab: Storage, policy: str) -> None:
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Halted", DATA))
    snapshot = await taken(lab, deletionPolicy=policy)
    await lab.snapshotted(volume_snapshot(snapshot))
    await reached(lab, "Succeeded")
    await lab.client.delete(MACHINE_SNAPSHOTS, "snap", lab.namespace)
    await lab.gone(MACHINE_SNAPSHOTS, "snap")
    if policy == "Delete":
        await lab.gone(MACHINE_SNAPSHOT_CONTENTS, content(snapshot))
        await lab.gone(SNAPSHOTS, volume_snapshot(snapshot))
    else:
        kept = await lab.get(MACHINE_SNAPSHOT_CONTENTS, content(snapshot))
        assert name_of(await lab.get(SNAPSHOTS, volume_snapshot(snapshot)))
        assert kept["status"]["readyToUse"] is True


async def test_a_snapshot_whose_volume_is_gone_says_so(lab: Storage) -> None:
    await lab.claim("data")
    await lab.create(MACHINES, machine("vm", "Halted", DATA))
    snapshot = await taken(lab)
    await lab.snapshotted(volume_snapshot(snapshot))
    await reached(lab, "Succeeded")
    await lab.client.delete(SNAPSHOTS, volume_snapshot(snapshot), lab.namespace)
    lost = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: each["status"]["readyToUse"] is False)
    assert "missing" in lost["status"]["error"]["message"]
    assert lost["status"]["phase"] == "Succeeded"
