"""Claims get volumes, on a real API server and in a real directory."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Event

import pytest

from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.host import clone
from ingot.kube.client import Client
from ingot.standalone.volumes import copying, loop, source
from ingot.standalone.volumes.binder import Binder
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.records import Record
from machine.machine_support import a_claim, a_pod, a_volume, events_of, running
from machine.volume_support import (
    annotate,
    asking,
    copy_of,
    device_size,
    everything,
    in_phase,
    is_directory,
    left_in,
    needs_loop,
    nothing_left,
    read,
    release,
    used,
    volume_in_phase,
    write,
)


@pytest.mark.usefixtures("machine")
async def test_a_claim_waits_for_its_pod_and_both_are_bound(client: Client, namespace: str) -> None:
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk"))
    assert claim["spec"]["storageClassName"] == "ingot-local"
    assert await eventually(lambda: events_of(client, claim, "WaitForFirstConsumer")) == [
        "waiting for first consumer to be created before binding"
    ]
    await client.create(PODS, a_pod(namespace, "user", ("disk",)))

    async def placed() -> bool:
        return bool((await client.get(PODS, "user", namespace))["spec"].get("nodeName") == "here")

    await eventually(placed)
    claim = await in_phase(client, namespace, "disk")
    assert claim["status"]["capacity"] == {"storage": "1Gi"}
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "here"
    volume = await client.get(VOLUMES, claim["spec"]["volumeName"])
    assert volume["status"]["phase"] == "Bound"
    assert is_directory(Path(volume["spec"]["local"]["path"]))
    assert await events_of(client, await client.get(PODS, "user", namespace), "FailedScheduling") == []


@pytest.mark.usefixtures("machine")
async def test_a_deleted_claim_takes_its_files_along(client: Client, namespace: str, directory: Path) -> None:
    disk, other = await used(client, namespace, "disk"), await used(client, namespace, "other")
    write(disk["path"] / "disk.img")
    write(other["path"] / "disk.img")
    await client.delete(VOLUME_CLAIMS, "disk", namespace)
    assert is_directory(disk["path"])
    await release(client, namespace, "disk")

    async def gone() -> bool:
        names = [each["metadata"]["name"] for each in (await client.list(VOLUMES))["items"]]
        return disk["spec"]["volumeName"] not in names and left_in(directory) == [other["spec"]["volumeName"]] * 2

    await eventually(gone)
    assert is_directory(other["path"])


@pytest.mark.usefixtures("machine")
async def test_a_volume_that_a_claim_has_keeps_its_files_whatever_its_phase_says(
    client: Client, namespace: str
) -> None:
    disk = await used(client, namespace, "disk")
    name = disk["spec"]["volumeName"]
    await client.patch(VOLUMES, name, {"status": {"phase": "Released"}}, subresource="status")
    volume = await volume_in_phase(client, name, "Bound")
    assert is_directory(disk["path"])
    await client.delete(VOLUMES, name)
    # Nobody waits for what does not happen: the claim that comes next shows that this one was looked at.
    await used(client, namespace, "next")
    assert is_directory(disk["path"])
    assert (await client.get(VOLUMES, name))["metadata"]["uid"] == volume["metadata"]["uid"]


@pytest.mark.usefixtures("machine")
async def test_a_retained_volume_keeps_its_files(client: Client, namespace: str, directory: Path) -> None:
    disk = await used(client, namespace, "disk")
    name = disk["spec"]["volumeName"]
    await client.patch(VOLUMES, name, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    await release(client, namespace, "disk")
    await client.delete(VOLUME_CLAIMS, "disk", namespace)
    await volume_in_phase(client, name, "Released")
    await client.delete(VOLUMES, name)

    async def gone() -> bool:
        return name not in [each["metadata"]["name"] for each in (await client.list(VOLUMES))["items"]]

    await eventually(gone)
    local = LocalVolumes(directory)
    record = local.record(name)
    assert record is not None
    assert record.retained
    assert is_directory(disk["path"])
    local.remove(name, block=False)
    local.forget(name)


@pytest.mark.usefixtures("machine")
async def test_a_claim_grows_and_does_not_shrink(client: Client, namespace: str) -> None:
    await used(client, namespace, "disk")
    await client.patch(VOLUME_CLAIMS, "disk", asking("2Gi"), namespace)

    async def grown() -> bool:
        claim = await client.get(VOLUME_CLAIMS, "disk", namespace)
        volume = await client.get(VOLUMES, claim["spec"]["volumeName"])
        return bool(claim["status"]["capacity"] == volume["spec"]["capacity"] == {"storage": "2Gi"})

    await eventually(grown)
    with pytest.raises(ApiError, match=r"field can not be less than status\.capacity"):
        await client.patch(VOLUME_CLAIMS, "disk", asking("1Gi"), namespace)


@needs_loop
@pytest.mark.usefixtures("machine")
async def test_a_block_claim_is_a_device_that_grows(client: Client, namespace: str) -> None:
    disk = await used(client, namespace, "disk", volumeMode="Block", size="1Mi")
    assert device_size(disk["path"]) == 1 << 20
    await client.patch(VOLUME_CLAIMS, "disk", asking("3Mi"), namespace)

    async def grown() -> bool:
        claim = await client.get(VOLUME_CLAIMS, "disk", namespace)
        return bool(claim["status"]["capacity"] == {"storage": "3Mi"})

    await eventually(grown)
    assert device_size(disk["path"]) == 3 << 20


@needs_loop
async def test_a_device_that_was_lost_is_attached_by_the_next_start(
    client: Client, namespace: str, node: str, directory: Path
) -> None:
    async with running(client, everything(directory)):
        await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        disk = await used(client, namespace, "disk", volumeMode="Block", size="1Mi")
    image = disk["path"].with_name("block.img")
    loop.detach(image)

    async def back() -> bool:
        return loop.attached(image) is not None

    async with running(client, everything(directory)):
        await eventually(back)
        await release(client, namespace, "disk")
        await client.delete(VOLUME_CLAIMS, "disk", namespace)
        await eventually(lambda: nothing_left(client, directory))
    assert loop.attached(image) is None


@pytest.mark.usefixtures("machine")
async def test_an_ordinary_user_is_told_what_block_needs(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source.os, "geteuid", lambda: 1000)
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", volumeMode="Block"))
    await client.create(PODS, a_pod(namespace, "user-of-disk", ("disk",)))
    [message] = await eventually(lambda: events_of(client, claim, "ProvisioningFailed"))
    assert message == (
        f"claim {namespace}/disk: volumeMode Block needs a loop device, which only root may attach: run `ingot up` as "
        "root, or make the claim anew with spec.volumeMode Filesystem; tried again in 60 s"
    )


@pytest.mark.usefixtures("machine")
async def test_more_than_the_filesystem_holds_is_refused(client: Client, namespace: str) -> None:
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", size="1Ei"))
    await client.create(PODS, a_pod(namespace, "user-of-disk", ("disk",)))
    [message] = await eventually(lambda: events_of(client, claim, "ProvisioningFailed"))
    assert "spec.resources.requests.storage asks for 1152921504606846976 bytes, but the filesystem" in message


@pytest.mark.usefixtures("machine")
async def test_a_copy_waits_until_its_original_is_quiet(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_SOON", 0.1)
    monkeypatch.setattr(clone, "share_blocks", lambda *_: False)
    disk = await used(client, namespace, "disk")
    write(disk["path"] / "disk.img")
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "copy", **copy_of("disk")))
    await client.create(PODS, a_pod(namespace, "user-of-copy", ("copy",)))
    [message] = await eventually(lambda: events_of(client, claim, "ProvisioningFailed"))
    assert f"claim {namespace}/disk is in use by pod user-of-disk" in message
    await release(client, namespace, "disk")
    bound = await in_phase(client, namespace, "copy")
    volume = await client.get(VOLUMES, bound["spec"]["volumeName"])
    assert read(Path(volume["spec"]["local"]["path"]) / "disk.img") == b"guest data"


@pytest.mark.usefixtures("machine")
async def test_a_copy_waits_until_its_original_is_filled(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that takes its upload itself is bound before it has its bytes."""
    monkeypatch.setattr(source, "_SOON", 0.1)
    disk = await used(client, namespace, "disk")
    await release(client, namespace, "disk")
    await annotate(client, namespace, "disk", {names.UPLOAD_TARGET: ""})
    write(disk["path"] / "disk.img", b"half")
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "copy", **copy_of("disk")))
    await client.create(PODS, a_pod(namespace, "user-of-copy", ("copy",)))
    [message] = await eventually(lambda: events_of(client, claim, "ProvisioningFailed"))
    assert f"claim {namespace}/disk is still being filled" in message
    write(disk["path"] / "disk.img", b"whole")
    await annotate(client, namespace, "disk", {names.POD_PHASE: "Succeeded"})
    bound = await in_phase(client, namespace, "copy")
    volume = await client.get(VOLUMES, bound["spec"]["volumeName"])
    assert read(Path(volume["spec"]["local"]["path"]) / "disk.img") == b"whole"


@pytest.mark.usefixtures("machine")
async def test_what_could_not_be_filled_is_not_copied(client: Client, namespace: str) -> None:
    await used(client, namespace, "disk")
    await release(client, namespace, "disk")
    await annotate(client, namespace, "disk", {names.UPLOAD_TARGET: "", names.FAILURE: "{}"})
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "copy", **copy_of("disk")))
    await client.create(PODS, a_pod(namespace, "user-of-copy", ("copy",)))
    [message] = await eventually(lambda: events_of(client, claim, "ProvisioningFailed"))
    assert f"claim {namespace}/disk could not be filled" in message


@pytest.fixture
def slow_copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Copies that wait after their first chunk until the event is set."""
    go_on, real = Event(), os.copy_file_range

    def halting(source: int, target: int, count: int, *offsets: int) -> int:
        if offsets[0]:
            go_on.wait(20)
        return real(source, target, min(count, 4096), *offsets)

    monkeypatch.setattr(clone, "share_blocks", lambda *_: False)
    monkeypatch.setattr(clone.os, "copy_file_range", halting)
    monkeypatch.setattr(copying, "_SHOWN_SECONDS", 0.02)
    yield go_on
    go_on.set()


async def begin_copy(client: Client, namespace: str) -> Object:
    """A copy that has begun, and shows how far it is."""
    disk = await used(client, namespace, "disk")
    write(disk["path"] / "disk.img", b"x" * 3 * 4096)
    await release(client, namespace, "disk")
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "copy", **copy_of("disk")))
    await client.create(PODS, a_pod(namespace, "user-of-copy", ("copy",)))

    async def shown() -> Object | None:
        claim = await client.get(VOLUME_CLAIMS, "copy", namespace)
        progress = claim["metadata"].get("annotations", {}).get("ingot.io/clone-progress")
        return claim if progress == "4096/12288" else None

    return await eventually(shown)


@pytest.mark.usefixtures("machine")
async def test_a_copy_shows_how_far_it_is(client: Client, namespace: str, slow_copies: Event) -> None:
    await begin_copy(client, namespace)
    slow_copies.set()
    claim = await in_phase(client, namespace, "copy")
    assert "ingot.io/clone-progress" not in claim["metadata"]["annotations"]
    volume = await client.get(VOLUMES, claim["spec"]["volumeName"])
    assert read(Path(volume["spec"]["local"]["path"]) / "disk.img") == b"x" * 3 * 4096


@pytest.mark.usefixtures("machine")
async def test_copies_that_take_long_hold_up_nobody_else(client: Client, namespace: str, slow_copies: Event) -> None:
    await begin_copy(client, namespace)
    for number in range(8):
        await client.create(VOLUME_CLAIMS, a_claim(namespace, f"more-{number}", **copy_of("disk")))
        await client.create(PODS, a_pod(namespace, f"user-of-more-{number}", (f"more-{number}",)))
    await used(client, namespace, "empty")
    assert (await client.get(VOLUME_CLAIMS, "copy", namespace))["status"]["phase"] == "Pending"
    slow_copies.set()
    for number in range(8):
        await in_phase(client, namespace, f"more-{number}")


@pytest.mark.usefixtures("machine")
async def test_a_copy_for_a_claim_that_is_gone_is_called_off(
    client: Client, namespace: str, slow_copies: Event, directory: Path
) -> None:
    claim = await begin_copy(client, namespace)
    await client.delete(PODS, "user-of-copy", namespace, grace_period=0)
    await client.delete(VOLUME_CLAIMS, "copy", namespace)
    slow_copies.set()

    async def swept() -> bool:
        return not [name for name in left_in(directory) if claim["metadata"]["uid"] in name]

    await eventually(swept)


@pytest.mark.usefixtures("machine")
async def test_a_copy_must_be_as_large_and_of_the_same_mode(client: Client, namespace: str) -> None:
    await used(client, namespace, "disk")
    small = await client.create(VOLUME_CLAIMS, a_claim(namespace, "small", size="1Mi", **copy_of("disk")))
    alien = await client.create(VOLUME_CLAIMS, a_claim(namespace, "alien", **copy_of("nothing")))
    for name in ("small", "alien"):
        await client.create(PODS, a_pod(namespace, f"user-of-{name}", (name,)))
    [message] = await eventually(lambda: events_of(client, small, "ProvisioningFailed"))
    assert "is 1Gi large: ask for as much or more" in message
    [message] = await eventually(lambda: events_of(client, alien, "ProvisioningFailed"))
    assert f"claim {namespace}/nothing does not exist" in message


async def test_what_a_killed_process_left_is_swept_and_nothing_else(
    client: Client, namespace: str, node: str, directory: Path
) -> None:
    cluster = (await client.call("GET", "/api/v1/namespaces/kube-system"))["metadata"]["uid"]
    living = await client.create(VOLUME_CLAIMS, a_claim(namespace, "living", storageClassName="ingot-local"))
    local = LocalVolumes(directory)
    local.prepare()

    def made(name: str, uid: str, claim: str, of: str) -> None:
        local.fill(Record(name, of, namespace, claim, uid, block=False), 1, None, clone.Progress())
        local.publish(name)

    uid = living["metadata"]["uid"]
    made("pvc-gone", "gone", "gone", cluster)
    made("pvc-elsewhere", "e", "e", "another cluster")
    made(f"pvc-{uid}", uid, "living", cluster)
    local.fill(Record("pvc-half", cluster, namespace, "half", "half", block=False), 1, None, clone.Progress())
    write(directory / "somebody's")
    expected = sorted(["pvc-elsewhere", "pvc-elsewhere", f"pvc-{uid}", f"pvc-{uid}", "somebody's"])

    async def swept() -> bool:
        return left_in(directory) == expected

    async with running(client, everything(directory)):
        await eventually(swept)
        await client.create(PODS, a_pod(namespace, "user-of-living", ("living",)))
        await in_phase(client, namespace, "living")
        await release(client, namespace, "living")
        await client.delete(VOLUME_CLAIMS, "living", namespace)
        expected = ["pvc-elsewhere", "pvc-elsewhere", "somebody's"]
        await eventually(swept)


async def test_the_class_is_not_the_default_where_there_is_one(
    client: Client, namespace: str, node: str, directory: Path
) -> None:
    for each in (await client.list(STORAGE_CLASSES))["items"]:
        await client.delete(STORAGE_CLASSES, each["metadata"]["name"])
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    await client.create(
        STORAGE_CLASSES,
        {"metadata": {"name": f"mine-{namespace}", "annotations": annotations}, "provisioner": "example.com/x"},
    )
    async with running(client, everything(directory)):
        made = await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        assert "annotations" not in made["metadata"]
        claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk"))
        assert await eventually(lambda: events_of(client, claim, "ExternalProvisioning"))
    for each in (await client.list(STORAGE_CLASSES))["items"]:
        await client.delete(STORAGE_CLASSES, each["metadata"]["name"])


@pytest.fixture
async def binder(client: Client) -> AsyncIterator[None]:
    async with running(client, Binder):
        yield


@pytest.mark.usefixtures("binder")
async def test_static_volumes_are_bound_released_and_failed(client: Client, namespace: str) -> None:
    large, small = f"large-{namespace}", f"small-{namespace}"
    options = {"storageClassName": namespace}
    await client.create(VOLUMES, a_volume(large, "5Gi", **options))
    await client.create(VOLUMES, a_volume(small, "2Gi", persistentVolumeReclaimPolicy="Delete", **options))
    for name in (large, small):
        await volume_in_phase(client, name, "Available")
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "first", **options))
    claim = await in_phase(client, namespace, "first")
    assert claim["spec"]["volumeName"] == small
    assert claim["status"]["capacity"] == {"storage": "2Gi"}
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "second", volumeName=large, **options))
    claim = await in_phase(client, namespace, "second")
    assert claim["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}
    for name in ("first", "second"):
        await client.delete(VOLUME_CLAIMS, name, namespace)
    await volume_in_phase(client, large, "Released")
    failed = await volume_in_phase(client, small, "Failed")
    assert "no deletable volume plugin matched" in failed["status"]["message"]
    for name in (large, small):
        await client.delete(VOLUMES, name)


@pytest.mark.usefixtures("binder")
async def test_claims_that_cannot_be_bound_say_why(client: Client, namespace: str) -> None:
    none = await client.create(VOLUME_CLAIMS, a_claim(namespace, "none", storageClassName=""))
    assert await eventually(lambda: events_of(client, none, "FailedBinding")) == [
        "no persistent volumes available for this claim and no storage class is set"
    ]
    lost = await client.create(VOLUME_CLAIMS, a_claim(namespace, "lost", storageClassName="nowhere"))
    assert await eventually(lambda: events_of(client, lost, "ProvisioningFailed")) == [
        'storageclass.storage.k8s.io "nowhere" not found'
    ]
    name = f"tiny-{namespace}"
    await client.create(VOLUMES, a_volume(name, "1Mi", storageClassName=namespace))
    options = {"storageClassName": namespace, "volumeName": name}
    large = await client.create(VOLUME_CLAIMS, a_claim(namespace, "large", **options))
    assert await eventually(lambda: events_of(client, large, "VolumeMismatch")) == [
        f'Cannot bind to requested volume "{name}": requested PV is too small'
    ]
    await client.delete(VOLUMES, name)


@pytest.mark.usefixtures("binder")
async def test_a_claim_whose_volume_was_taken_away_is_lost(client: Client, namespace: str) -> None:
    name = f"taken-{namespace}"
    await client.create(VOLUMES, a_volume(name, storageClassName=namespace))
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", storageClassName=namespace))
    await in_phase(client, namespace, "disk")
    await client.delete(VOLUMES, name)
    await client.patch(VOLUMES, name, {"metadata": {"finalizers": None}})
    await in_phase(client, namespace, "disk", "Lost")
    assert await eventually(lambda: events_of(client, claim, "ClaimLost")) == [
        "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    ]


@pytest.mark.usefixtures("binder")
async def test_a_claim_that_came_before_the_default_class_gets_it(client: Client, namespace: str) -> None:
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "early"))
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    name = f"default-{namespace}"
    await client.create(
        STORAGE_CLASSES, {"metadata": {"name": name, "annotations": annotations}, "provisioner": "example.com/x"}
    )

    async def classed() -> bool:
        claim = await client.get(VOLUME_CLAIMS, "early", namespace)
        return bool(claim["spec"].get("storageClassName") == name)

    await eventually(classed)
    await client.delete(STORAGE_CLASSES, name)


@pytest.mark.usefixtures("binder")
async def test_a_volume_made_for_a_claim_that_got_another_one_is_released(client: Client, namespace: str) -> None:
    taken, late = f"taken-{namespace}", f"late-{namespace}"
    options = {"storageClassName": namespace}
    await client.create(VOLUMES, a_volume(taken, **options))
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", **options))
    claim = await in_phase(client, namespace, "disk")
    reference = {"namespace": namespace, "name": "disk", "uid": claim["metadata"]["uid"]}
    made = a_volume(late, claimRef=reference, persistentVolumeReclaimPolicy="Delete", **options)
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "example.com/x"}
    await client.create(VOLUMES, made)
    await volume_in_phase(client, late, "Released")
    assert (await client.get(VOLUMES, taken))["status"]["phase"] == "Bound"
