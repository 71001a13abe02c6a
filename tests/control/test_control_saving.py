"""Full copies of disks that no VolumeSnapshot reaches, on a real API server: the test is the node (F5)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from control.storage_world import WHEN, Storage, at_work
from control.world import World, machine, shown
from eventual import eventually
from ingot.api.cdi.names import CLONER_PREFIX, prime_name
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
)
from ingot.api.snapshot.saving import INSTANCE, NOW, SAVING, Saving, Stage
from ingot.control.instance import Instances
from ingot.control.machine import Machines
from ingot.control.snapshots.ability import SnapshotAbility
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.snapshots.restore import MachineRestores
from ingot.control.snapshots.saving import PAUSE_SECONDS
from ingot.control.snapshots.snapshot import MachineSnapshots
from ingot.control.snapshots.words import seconds_at
from ingot.control.volumes.populator import Populators
from ingot.kube.clock import timestamp
from ingot.kube.objects import condition, controller_of

DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
# As long as names of volumes may be.
SLOW_VOLUME = "slow".ljust(63, "w")
SLOW = {"name": SLOW_VOLUME, "persistentVolumeClaim": {"claimName": "slow"}}
REMOTE = {"name": "remote", "networkVolume": {"uri": "nbd://far.example/disk", "readOnly": False, "format": "raw"}}
SEED = {"name": "seed", "cloudInitNoCloud": {"userData": "#"}}
NO_WAY = "no VolumeSnapshot reaches a networkVolume"
SIZES = {SLOW_VOLUME: 1 << 30, "remote": 3 << 20}
MOMENT = "2023-11-14T22:14:00Z"
LONG = 1e10


class Node:
    """The agent of the node on which the disks of a snapshot are copied."""

    def __init__(self, lab: Storage, snapshot: str, content: str = "") -> None:
        self._lab = lab
        self.snapshot = snapshot
        self._content = content or f"vmsnapshot-content-{snapshot}"

    async def content(self) -> Object:
        return await eventually(lambda: self._lab.get(MACHINE_SNAPSHOT_CONTENTS, self._content))

    async def pod(self, prefix: str, former: Object | None = None) -> Object:
        """The pod of that sort, other than a former one."""
        name = f"{prefix}-{uid_of(await self.content())}"

        async def look() -> Object | None:
            found = await self._lab.get(PODS, name)
            return None if former is not None and uid_of(found) == uid_of(former) else found

        found = await eventually(look)
        assert found is not None
        return found

    async def say(self, pod: Object, saving: Saving) -> None:
        annotations = {"metadata": {"annotations": {SAVING: saving.text()}}}
        await self._lab.client.patch(PODS, pod["metadata"]["name"], annotations, self._lab.namespace)

    async def measured(self, former: Object | None = None) -> Object:
        """Disks are measured, and their claims mounted for the pod that is returned."""
        await self.say(await self.pod("sizer", former), Saving(Stage.MEASURED, sizes=SIZES))
        pod = await self.pod("saver")
        await self.say(pod, Saving(Stage.READY))
        return await self._lab.until(
            PODS, pod["metadata"]["name"], lambda each: each["metadata"]["annotations"].get(NOW)
        )

    def saved(self, volume: str) -> str:
        return f"vmsnapshot-{self.snapshot}-volume-{volume}"


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    controllers = (Machines, Instances, MachineSnapshots, SnapshotContents, MachineRestores, SnapshotAbility)
    async with at_work(bare, *controllers) as storage:
        await take_plain(storage)
        yield storage


@pytest.fixture
async def cloning(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, Machines, Instances, SnapshotContents, Populators) as storage:
        await take_plain(storage)
        yield storage
    await storage.forget_clones()


async def take_plain(storage: Storage) -> None:
    """Full copies are claims of the class without snapshots."""
    mark = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    await storage.client.patch(STORAGE_CLASSES, storage.plain, mark)


async def begun(lab: Storage, *volumes: Object, strategy: str = "Always", **spec: Any) -> Node:
    """A machine with these volumes, and a snapshot of it that is asked for."""
    await lab.claim("data")
    await lab.claim("slow", lab.plain)
    await lab.create(MACHINES, shown(machine("vm", strategy, *volumes)))
    if strategy == "Always":
        await lab.run("vm")
        await lab.printed("vm", "Running")
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    wanted = {"metadata": {"name": "snap"}, "spec": {"source": source, **spec}}
    return Node(lab, uid_of(await lab.create(MACHINE_SNAPSHOTS, wanted)))


async def progress(lab: Storage, word: str) -> Object:
    def told(each: Object) -> bool:
        return word in (condition(each, "Progressing") or {}).get("message", "")

    return await lab.until(MACHINE_SNAPSHOTS, "snap", told)


async def done(lab: Storage, node: Node, pod: Object) -> Object:
    await node.say(pod, Saving(Stage.DONE, moment=MOMENT, done=7, total=7))
    return await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: (each.get("status") or {}).get("readyToUse"))


async def test_disks_of_a_running_machine_are_saved_by_its_node_together_with_its_volume_snapshots(
    lab: Storage,
) -> None:
    node = await begun(lab, DATA, SLOW, REMOTE)
    instance = await lab.get(INSTANCES, "vm")
    sizer = await node.pod("sizer")
    assert sizer["metadata"]["annotations"][INSTANCE] == uid_of(instance)
    (term,) = sizer["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchFields"][0]["values"] == [instance["status"]["nodeName"]]
    assert await lab.is_gone(SNAPSHOTS, node.saved("data")), "all of it is for one moment"

    pod = await node.measured()
    content = await node.content()
    for volume in (SLOW_VOLUME, "remote"):
        claim = await lab.get(VOLUME_CLAIMS, node.saved(volume))
        assert (controller_of(claim) or {})["uid"] == uid_of(content)
        assert claim["spec"]["storageClassName"] == lab.plain
    mounted = {each["persistentVolumeClaim"]["claimName"] for each in pod["spec"]["volumes"][1:]}
    assert mounted == {node.saved(SLOW_VOLUME), node.saved("remote")}
    await lab.snapshotted(node.saved("data"))
    await node.say(pod, Saving(Stage.COPYING, done=5, total=7))
    waiting = await progress(lab, "5 of 7 bytes")
    assert waiting["status"]["readyToUse"] is False
    await lab.pass_time(LONG)
    assert (await lab.get(MACHINE_SNAPSHOTS, "snap"))["status"]["phase"] == "InProgress", "no deadline was given"

    complete = await done(lab, node, pod)
    assert complete["status"]["creationTime"] == MOMENT
    assert complete["status"]["snapshotVolumes"]["includedVolumes"] == ["data", SLOW_VOLUME, "remote"]
    assert complete["status"]["indications"] == ["Online", "NoGuestAgent"]
    for prefix in ("sizer", "saver"):
        await lab.gone(PODS, f"{prefix}-{uid_of(content)}")
    assert (await node.content())["status"]["copying"]["stage"] == "Done"
    await lab.client.delete(VOLUME_CLAIMS, node.saved("remote"), lab.namespace)
    lost = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: not each["status"]["readyToUse"])
    assert node.saved("remote") in lost["status"]["error"]["message"]


async def test_a_copy_that_fails_is_thrown_away_and_made_anew(lab: Storage) -> None:
    node = await begun(lab, DATA, REMOTE)
    pod = await node.measured()
    first = await eventually(lambda: lab.get(SNAPSHOTS, node.saved("data")))
    claim = await lab.get(VOLUME_CLAIMS, node.saved("remote"))
    now = timestamp(lab.clock.time())
    await node.say(pod, Saving(Stage.FAILED, "CopyFailed", "the guest has ended; tried again", since=now))
    failed = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: (each.get("status") or {}).get("error"))
    assert "the guest has ended" in failed["status"]["error"]["message"]
    await lab.pass_time(PAUSE_SECONDS)
    await eventually(lambda: _is_another(lab, claim, node))

    again = await node.measured()
    assert uid_of(again) != uid_of(pod)
    await eventually(lambda: lab.get(SNAPSHOTS, node.saved("data")))
    assert uid_of(await lab.get(SNAPSHOTS, node.saved("data"))) != uid_of(first), "of one moment with the copies"
    await lab.snapshotted(node.saved("data"))
    complete = await done(lab, node, again)
    assert "error" not in complete["status"]


async def test_a_copy_is_thrown_away_with_a_volume_snapshot_that_failed(lab: Storage) -> None:
    """They are begun together, for one moment."""
    node = await begun(lab, DATA, REMOTE)
    pod = await node.measured()
    claim = await lab.get(VOLUME_CLAIMS, node.saved("remote"))
    await lab.snapshotted(node.saved("data"), error={"time": WHEN, "message": "disk on fire"})
    await lab.heard(f"vmsnapshot-content-{node.snapshot}", "VolumeSnapshotError")

    # It is told until it is tried again, for which time has to pass.
    await lab.pass_time(PAUSE_SECONDS + 1)
    await progress(lab, "disk on fire; it would be of another moment")
    await eventually(lambda: _is_another(lab, claim, node))
    # The snapshot tells it after the content.
    given_up = seconds_at((await node.content())["status"]["error"]["time"])

    async def is_tried_again() -> bool:
        await lab.pass_time(1.0)
        return uid_of(await lab.get(PODS, f"sizer-{uid_of(await node.content())}")) != uid_of(pod)

    await eventually(is_tried_again)
    assert lab.clock.time() >= given_up + PAUSE_SECONDS

    again = await node.measured()
    assert uid_of(again) != uid_of(pod)
    await lab.snapshotted(node.saved("data"))
    complete = await done(lab, node, again)
    assert "error" not in complete["status"]


async def test_a_copy_whose_claim_is_deleted_is_made_anew(lab: Storage) -> None:
    """The pod that copies has it mounted, so that it stays until that is gone."""
    node = await begun(lab, DATA, SLOW, REMOTE)
    pod = await node.measured()
    claim = await used(lab, node.saved("remote"))
    other = await lab.get(VOLUME_CLAIMS, node.saved(SLOW_VOLUME))
    first = await eventually(lambda: lab.get(SNAPSHOTS, node.saved("data")))
    await node.say(pod, Saving(Stage.COPYING, done=5, total=7))
    await lab.client.delete(VOLUME_CLAIMS, node.saved("remote"), lab.namespace)
    await lab.gone_with_pod(PODS, pod["metadata"]["name"])
    await lab.change(VOLUME_CLAIMS, node.saved("remote"), {"metadata": {"finalizers": None}})
    await lab.pass_time(1.0)
    await eventually(lambda: _is_another(lab, claim, node))

    again = await node.measured()
    assert uid_of(await lab.get(VOLUME_CLAIMS, node.saved(SLOW_VOLUME))) != uid_of(other), "of one moment"
    assert uid_of(await lab.get(SNAPSHOTS, node.saved("data"))) != uid_of(first), "of one moment"
    await lab.snapshotted(node.saved("data"))
    complete = await done(lab, node, again)
    assert "error" not in complete["status"]


async def used(lab: Storage, name: str) -> Object:
    """The claim, which stays until the test says that nothing uses it any more."""
    return await lab.change(VOLUME_CLAIMS, name, {"metadata": {"finalizers": ["example.com/used"]}})


async def _is_another(lab: Storage, claim: Object, node: Node) -> bool:
    gone = await lab.is_gone(VOLUME_CLAIMS, node.saved("remote"))
    return gone or uid_of(await lab.get(VOLUME_CLAIMS, node.saved("remote"))) != uid_of(claim)


async def test_a_deadline_that_was_given_ends_a_copy_and_leaves_nothing(lab: Storage) -> None:
    node = await begun(lab, REMOTE, failureDeadline="2m")
    pod = await node.measured()
    await node.say(pod, Saving(Stage.COPYING, done=5, total=7))
    await progress(lab, "5 of 7 bytes")
    await lab.pass_time(LONG)
    await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: each["status"]["phase"] == "Failed")
    await lab.gone(MACHINE_SNAPSHOT_CONTENTS, f"vmsnapshot-content-{node.snapshot}")
    await lab.gone(VOLUME_CLAIMS, node.saved("remote"))
    await lab.gone(PODS, pod["metadata"]["name"])
    await lab.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in each.get("status", {}))


async def test_a_machine_says_which_of_its_volumes_a_snapshot_holds(lab: Storage) -> None:
    await lab.claim("data")
    shared = {"name": "shared", "accessMode": "write-shared", "nbd": {"host": "far.example", "export": "all"}}
    await lab.create(MACHINES, shown(machine("vm", "Halted", DATA, SLOW, REMOTE, shared, SEED)))

    def told(each: Object) -> dict[str, Object]:
        return {one["name"]: one for one in (each.get("status") or {}).get("volumeSnapshotStatuses") or ()}

    first = told(await lab.until(MACHINES, "vm", lambda each: len(told(each)) == 5))
    assert first["data"] == {"name": "data", "enabled": True}
    assert first["remote"] == {"name": "remote", "enabled": True, "reason": "as a full copy: " + NO_WAY}
    assert (first[SLOW_VOLUME]["enabled"], first[SLOW_VOLUME]["reason"]) == (
        False,
        'PersistentVolumeClaim "slow" does not exist',
    )
    assert "other machines may write to it while it is copied: save it there" in first["shared"]["reason"]
    assert first["seed"]["enabled"] is False
    await lab.claim("slow", lab.plain)
    after = await lab.until(MACHINES, "vm", lambda each: told(each)[SLOW_VOLUME]["enabled"])
    assert "VolumeSnapshotClass" in told(after)[SLOW_VOLUME]["reason"]


async def test_a_machine_that_does_not_run_is_copied_where_it_could_start_and_goes_back_to_it(lab: Storage) -> None:
    container = {"name": "main", "image": "busybox", "volumeMounts": [{"name": SLOW_VOLUME, "mountPath": "/slow"}]}
    writer = {"metadata": {"name": "writer"}, "spec": {"containers": [container], "volumes": [SLOW]}}
    await lab.create(PODS, writer)
    node = await begun(lab, SLOW, REMOTE, strategy="Halted")
    await progress(lab, 'pod "writer" writes to PersistentVolumeClaim "slow"')
    await lab.client.delete(PODS, "writer", lab.namespace, grace_period=0)
    await lab.pass_time(5.0)
    sizer = await node.pod("sizer")
    assert sizer["metadata"]["annotations"][INSTANCE] == ""
    sources = [each["persistentVolumeClaim"] for each in sizer["spec"]["volumes"][1:]]
    assert sources == [{"claimName": "slow", "readOnly": True}]
    await node.say(sizer, Saving(Stage.WAITING, "Unreachable", "far.example does not answer; tried again in 10 s"))
    await progress(lab, "far.example does not answer")
    pod = await node.measured()
    complete = await done(lab, node, pod)
    assert "indications" not in complete["status"]

    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    for volume in (SLOW_VOLUME, "remote"):
        await lab.bind(node.saved(volume))
    spec = {"target": target, "virtualMachineSnapshotName": "snap"}
    restore = await lab.create(MACHINE_RESTORES, {"metadata": {"name": "back"}, "spec": spec})
    for volume in (SLOW_VOLUME, "remote"):
        name = f"restore-{uid_of(restore)}-{volume}"
        asked = await eventually(lambda name=name: lab.get(VOLUME_CLAIMS, name))
        source = await lab.get(CLONE_SOURCES, asked["spec"]["dataSourceRef"]["name"])
        assert source["spec"]["source"] == {"kind": "PersistentVolumeClaim", "name": node.saved(volume)}
        await lab.bind(name)
    await lab.until(MACHINE_RESTORES, "back", lambda each: (each.get("status") or {}).get("complete"))
    back = await lab.get(MACHINES, "vm")
    assert back["spec"]["template"]["spec"]["volumes"] == [
        {"name": volume, "persistentVolumeClaim": {"claimName": f"restore-{uid_of(restore)}-{volume}"}}
        for volume in (SLOW_VOLUME, "remote")
    ]
    assert (await lab.client.list(CLONE_SOURCES, lab.namespace))["items"] == []


async def test_a_clone_of_what_a_running_guest_writes_to_is_copied_from_a_full_copy(cloning: Storage) -> None:
    """A copy by a pod need not wait for the guest's end (G10)."""
    lab = cloning
    await lab.claim("slow", lab.plain)
    await lab.create(MACHINES, shown(machine("vm", "Always", SLOW)))
    await lab.run("vm")
    origin = {"kind": "PersistentVolumeClaim", "name": "slow"}
    await lab.create(CLONE_SOURCES, {"metadata": {"name": "from-slow"}, "spec": {"source": origin}})
    reference = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeCloneSource", "name": "from-slow"}
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {**asked, "storageClassName": lab.plain, "dataSourceRef": reference}
    target = await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "copy"}, "spec": spec})
    node = Node(lab, "", f"tmp-content-{uid_of(target)}")
    pod = await node.measured()
    saved = f"tmp-{uid_of(target)}"
    await lab.bind(saved)
    await node.say(pod, Saving(Stage.COPYING, done=5, total=7))
    await lab.until(VOLUME_CLAIMS, "copy", lambda each: "5 of 7 bytes" in str(each["metadata"].get("annotations")))
    await node.say(pod, Saving(Stage.DONE, moment=MOMENT, done=7, total=7))
    worker = await eventually(lambda: lab.get(PODS, f"{CLONER_PREFIX}{prime_name(target)}"))
    sources = [each["persistentVolumeClaim"] for each in worker["spec"]["volumes"] if each["name"] == "source"]
    assert sources == [{"claimName": saved, "readOnly": True}]
    await lab.client.delete(VOLUME_CLAIMS, "copy", lab.namespace)
    await lab.gone(MACHINE_SNAPSHOT_CONTENTS, f"tmp-content-{uid_of(target)}")
    await lab.gone(VOLUME_CLAIMS, saved)
