"""Clones of what running guests write to: full copies are transfers, too, and no more are made at once (G10)."""

from collections.abc import AsyncIterator

import pytest

from control.storage_world import Storage, at_work
from control.test_control_saving import MOMENT, SLOW_VOLUME, Node, take_plain
from control.world import World, machine, shown
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import (
    CLONE_SOURCES,
    MACHINE_SNAPSHOT_CONTENTS,
    MACHINES,
    PODS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
)
from ingot.api.snapshot.saving import Saving, Stage
from ingot.control.instance import Instances
from ingot.control.machine import Machines
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.volumes.gate import TRANSFERS
from ingot.control.volumes.populator import Populators
from ingot.kube.clock import timestamp


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, Machines, Instances, SnapshotContents, Populators) as storage:
        await take_plain(storage)
        yield storage
    await storage.forget_clones()


async def guest(lab: Storage, name: str, strategy: str = "Always") -> None:
    """A machine that runs, with a claim of its name."""
    await lab.claim(name, lab.plain)
    volume = {"name": SLOW_VOLUME, "persistentVolumeClaim": {"claimName": name}}
    await lab.create(MACHINES, shown(machine(name, strategy, volume)))
    await lab.run(name)


async def clone(lab: Storage, origin: str, name: str) -> Object:
    source = {"source": {"kind": "PersistentVolumeClaim", "name": origin}}
    await lab.create(CLONE_SOURCES, {"metadata": {"name": name}, "spec": source})
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": lab.plain,
        "dataSourceRef": {"apiGroup": names.GROUP, "kind": CLONE_SOURCES.kind, "name": name},
    }
    return await lab.create(VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": spec})


async def copying(lab: Storage, target: Object) -> tuple[Node, Object]:
    """The node copies what the target is to be a clone of; its pod."""
    node = Node(lab, "", f"tmp-content-{uid_of(target)}")
    pod = await node.measured()
    await lab.bind(f"tmp-{uid_of(target)}")
    await node.say(pod, Saving(Stage.COPYING, done=5, total=7))
    await tells(lab, target, "5 of 7 bytes")
    return node, pod


async def tells(lab: Storage, target: Object, words: str) -> None:
    await lab.until(VOLUME_CLAIMS, name_of(target), lambda each: words in str(each["metadata"].get("annotations")))


async def begun(lab: Storage) -> set[str]:
    """The uids of the clones for which full copies are made, or are there."""
    found = (await lab.client.list(MACHINE_SNAPSHOT_CONTENTS, lab.namespace))["items"]
    return {name_of(each).removeprefix("tmp-content-") for each in found}


async def test_full_copies_of_one_guest_are_begun_one_after_the_other(lab: Storage) -> None:
    await guest(lab, "vm")
    first = await clone(lab, "vm", "first")
    node, pod = await copying(lab, first)
    others = [await clone(lab, "vm", f"other-{number}") for number in range(2 * TRANSFERS)]
    for other in others:
        await tells(lab, other, "is being done for another clone")
    assert await begun(lab) == {uid_of(first)}
    await node.say(pod, Saving(Stage.DONE, moment=MOMENT, done=7, total=7))
    await eventually(lambda: lab.get(PODS, f"{names.CLONER_PREFIX}{names.prime_name(first)}"))

    async def next_ones() -> set[str]:
        await lab.pass_time(5)
        return await begun(lab) - {uid_of(first)}

    assert await eventually(next_ones) < {uid_of(other) for other in others}


async def test_full_copies_have_the_places_of_transfers(lab: Storage) -> None:
    """One that does not get on has none, and one that is made into a clone has the same one."""
    targets = []
    for number in range(TRANSFERS):
        await guest(lab, f"vm-{number}")
        targets.append(await clone(lab, f"vm-{number}", f"clone-{number}"))
    nodes = [await copying(lab, target) for target in targets]
    await guest(lab, "late")
    late = await clone(lab, "late", "clone-late")
    await tells(lab, late, f"number 1 in the queue: at most {TRANSFERS} transfers go on at once")
    (node, pod), (stuck, stuck_pod) = nodes[:2]
    await node.say(pod, Saving(Stage.DONE, moment=MOMENT, done=7, total=7))
    await eventually(lambda: lab.get(PODS, f"{names.CLONER_PREFIX}{names.prime_name(targets[0])}"))
    await lab.pass_time(10)
    await tells(lab, late, "number 1 in the queue")
    assert await begun(lab) == {uid_of(target) for target in targets}
    now = timestamp(lab.clock.time())
    await stuck.say(stuck_pod, Saving(Stage.FAILED, "NoRoom", "there is no room", since=now))
    await tells(lab, targets[1], "there is no room")

    async def is_begun() -> bool:
        await lab.pass_time(5)
        return uid_of(late) in await begun(lab)

    await eventually(is_begun)


async def test_a_full_copy_is_finished_by_a_copy_though_storage_could_clone_by_then(lab: Storage) -> None:
    asked = {"metadata": {"annotations": {names.CLONE_STRATEGY: "csi-clone"}}}
    await lab.client.patch(STORAGE_CLASSES, lab.plain, asked)
    await guest(lab, "vm", "RerunOnFailure")
    target = await clone(lab, "vm", "clone")
    node, pod = await copying(lab, target)
    launcher = await lab.pod_of("vm")
    await lab.end("vm")
    await lab.pod_status(launcher, phase="Succeeded")
    await lab.pass_time(5)
    await node.say(pod, Saving(Stage.DONE, moment=MOMENT, done=7, total=7))
    worker = await eventually(lambda: lab.get(PODS, f"{names.CLONER_PREFIX}{names.prime_name(target)}"))
    volumes = {each["name"]: each.get("persistentVolumeClaim") for each in worker["spec"]["volumes"]}
    assert volumes["source"] == {"claimName": f"tmp-{uid_of(target)}", "readOnly": True}
    assert not (await lab.get(VOLUME_CLAIMS, names.prime_name(target)))["spec"].get("dataSource")


async def test_a_slow_full_copy_goes_on_without_a_place(lab: Storage) -> None:
    targets = []
    for number in range(TRANSFERS):
        await guest(lab, f"vm-{number}")
        targets.append(await clone(lab, f"vm-{number}", f"clone-{number}"))
    nodes = [await copying(lab, target) for target in targets]
    await guest(lab, "late")
    late = await clone(lab, "late", "clone-late")
    await tells(lab, late, "number 1 in the queue")

    async def is_begun() -> bool:
        await lab.pass_time(20)
        return uid_of(late) in await begun(lab)

    await eventually(is_begun)
    assert await begun(lab) == {uid_of(target) for target in (*targets, late)}
    for number, (node, pod) in enumerate(nodes):
        await node.say(pod, Saving(Stage.COPYING, done=6, total=7))
        await tells(lab, targets[number], "6 of 7 bytes")
