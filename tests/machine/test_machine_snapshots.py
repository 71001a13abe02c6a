"""VolumeSnapshots of local volumes, as external-snapshotter has them (F5)."""

import asyncio
import errno
import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import PODS, SNAPSHOT_CLASSES, SNAPSHOT_CONTENTS, SNAPSHOTS, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.host import clone
from ingot.kube.client import Client
from ingot.standalone.volumes import loop, packing, snapshotter
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.records import Record
from ingot_up import IngotUp
from machine.machine_support import a_claim, a_pod, events_of, running
from machine.volume_support import (
    annotate,
    clear,
    everything,
    in_phase,
    needs_loop,
    nothing_left,
    read,
    release,
    used,
    write,
)
from machine.xfs import mounted

MEGABYTE = 1 << 20
SOURCE_GONE = "snapshot.storage.kubernetes.io/pvc-as-source-protection"


@pytest.fixture(params=["copied", "shared"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where volumes are: on the filesystem of the tests, and on one that shares blocks."""
    if request.param == "copied":
        yield tmp_path / "volumes"
        return
    with mounted(tmp_path) as place:
        yield place / "volumes"


@pytest.fixture
async def snapshots(client: Client, machine: None, namespace: str, directory: Path) -> AsyncIterator[None]:
    """The class is there; what a test leaves is deleted, and nothing of it is left."""
    await eventually(lambda: client.get(SNAPSHOT_CLASSES, "ingot-local"))
    yield
    await clear(client, namespace, PODS, SNAPSHOTS, VOLUME_CLAIMS)
    await eventually(lambda: no_snapshots(client, directory))


async def no_snapshots(client: Client, directory: Path) -> bool:
    objects = (await client.list(SNAPSHOTS))["items"] + (await client.list(SNAPSHOT_CONTENTS))["items"]
    return not objects and not kept(directory)


def kept(directory: Path) -> list[str]:
    """What is there of snapshots: files and records."""
    place = directory / ".snapshots"
    found = [path.name for path in (*place.iterdir(), *(place / ".records").iterdir())]
    return sorted(name for name in found if name != ".records")


def a_snapshot(namespace: str, name: str = "snap", claim: str = "disk", **spec: Any) -> Object:
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"source": {"persistentVolumeClaimName": claim}, **spec},
    }


def a_class(name: str, driver: str, policy: str) -> Object:
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": name},
        "driver": driver,
        "deletionPolicy": policy,
    }


def from_snapshot(name: str = "snap") -> Object:
    return {"dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}}


async def ready(client: Client, namespace: str, name: str = "snap") -> Object:
    async def look() -> Object | None:
        found = await client.get(SNAPSHOTS, name, namespace)
        return found if (found.get("status") or {}).get("readyToUse") else None

    return await eventually(look)


async def failing(client: Client, namespace: str, name: str = "snap") -> str:
    async def look() -> str:
        found = await client.get(SNAPSHOTS, name, namespace)
        return str(((found.get("status") or {}).get("error") or {}).get("message", ""))

    return await eventually(look)


def content_of(snapshot: Object) -> str:
    return str(snapshot["status"]["boundVolumeSnapshotContentName"])


async def restored(client: Client, namespace: str, name: str, **spec: Any) -> Object:
    return await used(client, namespace, name, **spec)


@pytest.mark.usefixtures("snapshots")
async def test_a_snapshot_is_what_the_volume_held(client: Client, namespace: str) -> None:
    disk = await used(client, namespace, "disk")
    # Whole sectors, as disks have: where no blocks are shared they are packed.
    before = b"before".ljust(4096, b"\0")
    write(disk["path"] / "disk.img", before)
    await release(client, namespace, "disk")
    made = await client.create(SNAPSHOTS, a_snapshot(namespace))
    snapshot = await ready(client, namespace)
    write(disk["path"] / "disk.img", b"after!")
    assert snapshot["spec"]["volumeSnapshotClassName"] == "ingot-local"
    status = snapshot["status"]
    assert status["restoreSize"] == "1Gi"
    assert status["creationTime"] >= made["metadata"]["creationTimestamp"]
    assert "error" not in status
    assert set(snapshot["metadata"]["finalizers"]) == {
        "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
        "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
    }
    content = await client.get(SNAPSHOT_CONTENTS, content_of(snapshot))
    uid = made["metadata"]["uid"]
    assert content["metadata"]["name"] == f"snapcontent-{uid}"
    assert content["spec"]["volumeSnapshotRef"]["uid"] == uid
    assert content["spec"]["source"] == {"volumeHandle": disk["spec"]["volumeName"]}
    assert (content["spec"]["driver"], content["spec"]["deletionPolicy"]) == ("ingot.io/local", "Delete")
    assert content["spec"]["sourceVolumeMode"] == "Filesystem"
    assert content["status"]["snapshotHandle"] == f"snapshot-{uid}"
    assert (content["status"]["readyToUse"], content["status"]["restoreSize"]) == (True, 1 << 30)
    assert content["status"]["creationTime"] // 10**9 > 1_700_000_000
    copy = await restored(client, namespace, "copy", **from_snapshot())
    assert read(copy["path"] / "disk.img") == before
    larger = await restored(client, namespace, "larger", size="2Gi", **from_snapshot())
    assert read(larger["path"] / "disk.img") == before
    assert larger["status"]["capacity"] == {"storage": "2Gi"}

    async def let_go() -> bool:
        return SOURCE_GONE not in (await client.get(VOLUME_CLAIMS, "disk", namespace))["metadata"]["finalizers"]

    await eventually(let_go)


@needs_loop
@pytest.mark.usefixtures("snapshots")
async def test_a_snapshot_of_a_device(client: Client, namespace: str) -> None:
    disk = await used(client, namespace, "disk", volumeMode="Block", size="1Mi")
    await release(client, namespace, "disk")
    write_device(disk["path"], b"before")
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    await ready(client, namespace)
    write_device(disk["path"], b"after!")
    copy = await restored(client, namespace, "copy", volumeMode="Block", size="3Mi", **from_snapshot())
    with copy["path"].open("rb") as device:
        assert device.read(6) == b"before"
        assert device.seek(0, os.SEEK_END) == 3 * MEGABYTE
    wrong = await client.create(VOLUME_CLAIMS, a_claim(namespace, "wrong", size="3Mi", **from_snapshot()))
    await client.create(PODS, a_pod(namespace, "user-of-wrong", ("wrong",)))
    [message] = await eventually(lambda: events_of(client, wrong, "ProvisioningFailed"))
    assert f"VolumeSnapshot {namespace}/snap has volumeMode Block" in message


def write_device(path: Path, content: bytes) -> None:
    with path.open("r+b", buffering=0) as device:
        device.write(content.ljust(4096, b"\0"))
        os.fsync(device.fileno())


@pytest.mark.usefixtures("snapshots")
async def test_a_writer_is_no_hindrance_where_blocks_are_shared(
    client: Client, namespace: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshotter, "_RETRY_SECONDS", 0.1)
    disk = await used(client, namespace, "disk")
    write(disk["path"] / "disk.img")
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    if not LocalVolumes(directory).shares_blocks:
        message = await failing(client, namespace)
        assert f"claim {namespace}/disk is in use by pod user-of-disk" in message
        assert "put the volumes on XFS or btrfs; tried again in 0.1 s" in message
        await release(client, namespace, "disk")
    snapshot = await ready(client, namespace)
    assert "error" not in snapshot["status"]


@pytest.mark.usefixtures("snapshots")
async def test_a_writer_that_came_and_went_leaves_no_mixture(
    client: Client, namespace: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes before the copy, nor after it; what shares blocks is of one moment all the same."""
    monkeypatch.setattr(snapshotter, "_RETRY_SECONDS", 0.1)
    disk = await used(client, namespace, "disk")
    before, after = b"before".ljust(4096, b"\0"), b"after!".ljust(4096, b"\0")
    write(disk["path"] / "disk.img", before)
    write(disk["path"] / "more", before)
    await release(client, namespace, "disk")
    real = clone.clone_tree

    def visited(*args: Any, **options: Any) -> None:
        real(*args, **options)
        for name in ("disk.img", "more"):
            if read(disk["path"] / name) != after:
                write(disk["path"] / name, after)

    monkeypatch.setattr(clone, "clone_tree", visited)
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    await ready(client, namespace)
    monkeypatch.setattr(clone, "clone_tree", real)
    copy = await restored(client, namespace, "copy", **from_snapshot())
    held = before if LocalVolumes(directory).shares_blocks else after
    assert [read(copy["path"] / name) for name in ("disk.img", "more")] == [held, held]


@pytest.mark.usefixtures("snapshots")
async def test_a_disk_that_is_full_is_not_tried_again_and_again(
    client: Client, namespace: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other words each time are no reason to hurry."""
    monkeypatch.setattr(snapshotter, "_RETRY_SECONDS", 1.0)
    disk = await used(client, namespace, "disk")
    write(disk["path"] / "disk.img", bytes(4096))
    await release(client, namespace, "disk")
    tries: list[float] = []

    def full(*_: Any) -> None:
        tries.append(time.monotonic())
        raise OSError(errno.ENOSPC, f"no room, for the {len(tries)}. time", "disk.img")

    with monkeypatch.context() as broken:
        broken.setattr(LocalVolumes, "fill", full)
        await client.create(SNAPSHOTS, a_snapshot(namespace))
        await eventually(lambda: asyncio.sleep(0, len(tries) >= 3))
    assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(tries))
    await ready(client, namespace)


@pytest.mark.usefixtures("snapshots")
async def test_what_is_deleted_takes_its_files_along_and_what_is_retained_does_not(
    client: Client, namespace: str, directory: Path
) -> None:
    disk = await used(client, namespace, "disk")
    write(disk["path"] / "disk.img")
    await release(client, namespace, "disk")
    await client.create(SNAPSHOT_CLASSES, a_class(f"keep-{namespace}", "ingot.io/local", "Retain"))
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    await client.create(SNAPSHOTS, a_snapshot(namespace, "kept", volumeSnapshotClassName=f"keep-{namespace}"))
    snapshot, stays = await ready(client, namespace), await ready(client, namespace, "kept")
    # The volume may go, its snapshots are their own.
    await client.delete(VOLUME_CLAIMS, "disk", namespace)
    for name in ("snap", "kept"):
        await client.delete(SNAPSHOTS, name, namespace)
    handle = f"snapshot-{stays['metadata']['uid']}"

    async def settled() -> bool:
        left = [each["metadata"]["name"] for each in (await client.list(SNAPSHOT_CONTENTS))["items"]]
        gone = not (await client.list(SNAPSHOTS, namespace))["items"]
        return gone and left == [content_of(stays)] and kept(directory) == [handle] * 2

    await eventually(settled)
    assert content_of(snapshot) != content_of(stays)
    await client.delete(SNAPSHOT_CONTENTS, content_of(stays))

    async def gone() -> bool:
        return not (await client.list(SNAPSHOT_CONTENTS))["items"]

    await eventually(gone)
    assert kept(directory) == [handle] * 2
    await given(client, namespace, handle)
    copy = await restored(client, namespace, "copy", **from_snapshot("given"))
    assert read(copy["path"] / "disk.img") == b"guest data"
    await client.delete(SNAPSHOT_CLASSES, f"keep-{namespace}")


async def given(client: Client, namespace: str, handle: str) -> None:
    """A snapshot that the storage has already becomes an object again."""
    reference = {"namespace": namespace, "name": "given"}
    spec = {
        "driver": "ingot.io/local",
        "deletionPolicy": "Delete",
        "source": {"snapshotHandle": handle},
        "volumeSnapshotRef": reference,
    }
    content = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotContent",
        "metadata": {"name": f"given-{namespace}"},
        "spec": spec,
    }
    await client.create(SNAPSHOT_CONTENTS, content)
    snapshot = a_snapshot(namespace, "given")
    snapshot["spec"]["source"] = {"volumeSnapshotContentName": f"given-{namespace}"}
    await client.create(SNAPSHOTS, snapshot)
    found = await ready(client, namespace, "given")
    assert found["status"]["restoreSize"] == "1Gi"


@pytest.mark.usefixtures("snapshots")
async def test_what_cannot_be_taken_says_why(client: Client, namespace: str) -> None:
    await client.create(SNAPSHOTS, a_snapshot(namespace, "none", "nothing"))
    assert f"claim {namespace}/nothing does not exist" in await failing(client, namespace, "none")
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "late"))
    await client.create(SNAPSHOTS, a_snapshot(namespace, "early", "late"))
    assert f"claim {namespace}/late is not bound yet" in await failing(client, namespace, "early")
    await client.create(PODS, a_pod(namespace, "user-of-late", ("late",)))
    await in_phase(client, namespace, "late")
    await release(client, namespace, "late")
    found = await ready(client, namespace, "early")
    assert "error" not in found["status"]
    await client.create(SNAPSHOT_CLASSES, a_class(f"alien-{namespace}", "example.com/x", "Delete"))
    await client.create(SNAPSHOTS, a_snapshot(namespace, "alien", "late", volumeSnapshotClassName=f"alien-{namespace}"))
    assert "is of driver example.com/x, which is not on this machine" in await failing(client, namespace, "alien")
    await client.create(SNAPSHOTS, a_snapshot(namespace, "lost", "late", volumeSnapshotClassName="nowhere"))
    assert "VolumeSnapshotClass nowhere does not exist" in await failing(client, namespace, "lost")
    await client.delete(SNAPSHOT_CLASSES, f"alien-{namespace}")


@pytest.mark.usefixtures("snapshots")
async def test_a_snapshot_waits_until_the_claim_is_filled(client: Client, namespace: str) -> None:
    """A claim that takes its upload itself is bound before it has its bytes."""
    disk = await used(client, namespace, "disk")
    await release(client, namespace, "disk")
    await annotate(client, namespace, "disk", {names.UPLOAD_TARGET: ""})
    write(disk["path"] / "disk.img", b"half")
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    assert f"claim {namespace}/disk is still being filled" in await failing(client, namespace)
    assert not (await client.list(SNAPSHOT_CONTENTS))["items"]
    write(disk["path"] / "disk.img", b"whole")
    await annotate(client, namespace, "disk", {names.POD_PHASE: "Succeeded"})
    found = await ready(client, namespace)
    assert "error" not in found["status"]
    copy = await restored(client, namespace, "copy", **from_snapshot())
    assert read(copy["path"] / "disk.img") == b"whole"
    await annotate(client, namespace, "disk", {names.FAILURE: "{}"})
    await client.create(SNAPSHOTS, a_snapshot(namespace, "vain"))
    assert f"claim {namespace}/disk could not be filled" in await failing(client, namespace, "vain")


@pytest.mark.usefixtures("snapshots")
async def test_a_copy_of_a_snapshot_must_be_as_large_and_waits_for_it(client: Client, namespace: str) -> None:
    small = await client.create(VOLUME_CLAIMS, a_claim(namespace, "small", size="1Mi", **from_snapshot()))
    fits = await client.create(VOLUME_CLAIMS, a_claim(namespace, "fits", **from_snapshot()))
    for name in ("small", "fits"):
        await client.create(PODS, a_pod(namespace, f"user-of-{name}", (name,)))
    [message] = await eventually(lambda: events_of(client, fits, "ProvisioningFailed"))
    assert f"VolumeSnapshot {namespace}/snap does not exist" in message
    await used(client, namespace, "disk")
    await release(client, namespace, "disk")
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    await in_phase(client, namespace, "fits")

    async def refused() -> bool:
        messages = await events_of(client, small, "ProvisioningFailed")
        return any("is 1Gi large: ask for as much or more" in each for each in messages)

    await eventually(refused)
    # While a claim waits to be filled from it, the snapshot stays.
    await client.delete(SNAPSHOTS, "snap", namespace)
    await used(client, namespace, "next")
    assert (await client.get(SNAPSHOTS, "snap", namespace))["status"]["readyToUse"]
    await client.delete(PODS, "user-of-small", namespace, grace_period=0)
    await client.delete(VOLUME_CLAIMS, "small", namespace)

    async def gone() -> bool:
        return not (await client.list(SNAPSHOTS, namespace))["items"]

    await eventually(gone)


@pytest.mark.usefixtures("snapshots")
async def test_a_content_stays_as_long_as_its_snapshot(client: Client, namespace: str, directory: Path) -> None:
    await used(client, namespace, "disk")
    await release(client, namespace, "disk")
    await client.create(SNAPSHOTS, a_snapshot(namespace))
    snapshot = await ready(client, namespace)
    await client.delete(SNAPSHOT_CONTENTS, content_of(snapshot))
    await used(client, namespace, "next")
    content = await client.get(SNAPSHOT_CONTENTS, content_of(snapshot))
    assert "deletionTimestamp" in content["metadata"]
    assert len(kept(directory)) == 2


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "exactly one of persistentVolumeClaimName and volumeSnapshotContentName must be set"),
        (
            {"persistentVolumeClaimName": "a", "volumeSnapshotContentName": "b"},
            "exactly one of persistentVolumeClaimName and volumeSnapshotContentName must be set",
        ),
    ],
)
async def test_a_snapshot_has_one_source(client: Client, namespace: str, source: Object, message: str) -> None:
    with pytest.raises(ApiError, match=message):
        await client.create(SNAPSHOTS, {**a_snapshot(namespace), "spec": {"source": source}})
    made = await client.create(SNAPSHOTS, a_snapshot(namespace))
    with pytest.raises(ApiError, match="persistentVolumeClaimName is immutable"):
        await client.patch(SNAPSHOTS, "snap", {"spec": {"source": {"persistentVolumeClaimName": "other"}}}, namespace)
    await client.delete(SNAPSHOTS, made["metadata"]["name"], namespace)


STEPS: list[tuple[str, Any, str, bool]] = [
    ("begun", clone, "clone_tree", False),
    ("filled", LocalVolumes, "publish", False),
    ("published", LocalVolumes, "publish", True),
    ("deleting", LocalVolumes, "remove", False),
    ("deleted", snapshotter, "let_go", False),
    ("let go", LocalVolumes, "forget", False),
]


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("step", "owner", "name", "after"), STEPS, ids=[each[0] for each in STEPS])
async def test_killed_at_any_step(
    client: Client, namespace: str, directory: Path, step: str, owner: Any, name: str, after: bool
) -> None:
    async with running(client, everything(directory)):
        await eventually(lambda: client.get(SNAPSHOT_CLASSES, "ingot-local"))
        disk = await used(client, namespace, "disk")
        write(disk["path"] / "disk.img")
        await release(client, namespace, "disk")
    taking = step in ("begun", "filled", "published")
    with pytest.MonkeyPatch.context() as patch:
        hits = killing(patch, owner, name, after) if taking else []
        async with running(client, everything(directory)):
            await client.create(SNAPSHOTS, a_snapshot(namespace))
            if not taking:
                await ready(client, namespace)
                hits = killing(patch, owner, name, after)
                await client.delete(SNAPSHOTS, "snap", namespace)

            async def hit() -> bool:
                return bool(hits)

            await eventually(hit)
    async with running(client, everything(directory)):
        if taking:
            await ready(client, namespace)
            copy = await used(client, namespace, "copy", **from_snapshot())
            assert read(copy["path"] / "disk.img") == b"guest data"
            await release(client, namespace, "copy")
            await client.delete(SNAPSHOTS, "snap", namespace)
        await eventually(lambda: no_snapshots(client, directory))
        for each in (await client.list(VOLUME_CLAIMS, namespace))["items"]:
            await client.delete(VOLUME_CLAIMS, each["metadata"]["name"], namespace)

        async def empty() -> bool:
            return not (await client.list(VOLUMES))["items"]

        await eventually(empty)


@pytest.mark.usefixtures("node")
async def test_killed_at_any_moment_again_and_again(
    client: Client, namespace: str, directory: Path, machine_server: IngotUp
) -> None:
    """Snapshots come and go while what takes them is killed: in the end all are there, whole, or gone."""
    async with running(client, everything(directory)):
        disk = await prepared(client, namespace)
    program = str(Path(__file__).with_name("volumes_process.py"))
    command = (sys.executable, program, str(machine_server.kubeconfig), str(directory))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    chance = random.Random(20261117)  # noqa: S311 - moments, not secrets
    for number in range(6):
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        await client.create(SNAPSHOTS, a_snapshot(namespace, f"s{number}"))
        if number > 1:
            await client.delete(SNAPSHOTS, f"s{number - 2}", namespace)
        await asyncio.sleep(0.4 + chance.random() * 0.6)
        process.kill()
        await process.wait()

    async def settled() -> bool:
        found = (await client.list(SNAPSHOTS, namespace))["items"]
        handles = sorted(f"snapshot-{each['metadata']['uid']}" for each in found)
        ready = [each for each in found if (each.get("status") or {}).get("readyToUse")]
        contents = (await client.list(SNAPSHOT_CONTENTS))["items"]
        return len(ready) == len(contents) == 2 and kept(directory) == sorted(handles * 2)

    async with running(client, everything(directory)):
        await eventually(settled)
        for name in ("s4", "s5"):
            uid = (await client.get(SNAPSHOTS, name, namespace))["metadata"]["uid"]
            assert await asyncio.to_thread(held, directory, f"snapshot-{uid}") == read(disk["path"] / "disk.img")
            await client.delete(SNAPSHOTS, name, namespace)
        await eventually(lambda: no_snapshots(client, directory))
        await client.delete(VOLUME_CLAIMS, "disk", namespace)
        await eventually(lambda: nothing_left(client, directory))


def held(directory: Path, handle: str) -> bytes:
    """The disk in a snapshot."""
    files = LocalVolumes(directory).snapshots()
    record, disk = files.record(handle), files.directory / handle / "disk.img"
    assert record is not None
    if not record.packed:
        return read(disk)
    raw = directory.parent / f"{handle}.raw"
    packing.unpack(disk, raw, clone.Progress())
    return read(raw)


async def prepared(client: Client, namespace: str) -> Object:
    """A claim with content that nobody uses."""
    await eventually(lambda: client.get(SNAPSHOT_CLASSES, "ingot-local"))
    disk = await used(client, namespace, "disk")
    write(disk["path"] / "disk.img", os.urandom(8 * MEGABYTE))
    await release(client, namespace, "disk")
    return disk


def killing(patch: pytest.MonkeyPatch, owner: Any, name: str, after: bool) -> list[str]:
    """Lets the function end what calls it; who was hit."""
    real: Callable[..., Any] = getattr(owner, name)
    hits: list[str] = []

    def dying(*args: Any, **options: Any) -> Any:
        if after and not hits:
            real(*args, **options)
        hits.append(name)
        raise RuntimeError("killed by the test")

    patch.setattr(owner, name, dying)
    return hits


def test_a_running_writer_never_sees_its_snapshot_change(tmp_path: Path) -> None:
    """Each snapshot under a writer is one moment: every block is of the writer's last round or the one before."""
    with mounted(tmp_path) as place:
        local = LocalVolumes(place / "volumes")
        local.prepare()
        assert local.shares_blocks
        assert loop.CONTROL.exists()
        check_moments(local)


def check_moments(local: LocalVolumes) -> None:
    files = local.snapshots()
    files.prepare()
    volume = local.directory / "v"
    local.fill(Record("v", "cl", "ns", "c", "u", block=False), MEGABYTE, None, clone.Progress())
    local.publish("v")
    (volume / "disk.img").write_bytes(bytes(64 * 4096))
    script = (
        "import os, sys, itertools\n"
        "fd = os.open(sys.argv[1], os.O_WRONLY)\n"
        "for number in itertools.count(1):\n"
        "    for block in range(64):\n"
        "        os.pwrite(fd, (number % 2**32).to_bytes(4, 'big') * 1024, block * 4096)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(volume / "disk.img")])
    try:
        for number in range(20):
            name = f"s{number}"
            files.fill(Record(name, "cl", "ns", "s", name, block=False), 0, volume, clone.Progress())
            files.publish(name)
            content = (files.directory / name / "disk.img").read_bytes()
            seen = [int.from_bytes(content[at : at + 4], "big") for at in range(0, len(content), 4096)]
            assert seen == sorted(seen, reverse=True)
            assert seen[0] - seen[-1] <= 1
    finally:
        writer.kill()
        writer.wait()
