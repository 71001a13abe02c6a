"""Clones on a real API server, with storage that does what a test tells it (G10)."""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from control.storage_world import Storage, at_work
from control.world import World
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.cdi.config import NAME
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    CDI_CONFIGS,
    CLONE_SOURCES,
    DATA_SOURCES,
    DATA_VOLUMES,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.populator import Populators
from ingot.kube.objects import condition

ASKED = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, Populators, DataVolumes) as storage:
        yield storage
    await storage.forget_clones()


@pytest.fixture
async def elsewhere(lab: Storage) -> Storage:
    """Another namespace, with the same storage: that of golden images."""
    namespace = f"golden-{uuid4().hex[:8]}"
    await lab.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    world = World(lab.client, namespace, lab.clock)
    await world.until(SERVICE_ACCOUNTS, "default", bool)
    other = Storage(world)
    other.fast, other.plain = lab.fast, lab.plain
    return other


async def strategy(lab: Storage, storage_class: str, word: str) -> None:
    change = {"metadata": {"annotations": {names.CLONE_STRATEGY: word}}}
    await lab.client.patch(STORAGE_CLASSES, storage_class, change)


async def clone(
    lab: Storage, storage_class: str = "", size: str = "1Gi", annotations: Object | None = None, **source: str
) -> tuple[Object, Object]:
    """A claim that is to be a clone of claim `golden`: the claim, and what tells so."""
    origin = {"kind": "PersistentVolumeClaim", "name": "golden", **source}
    told = await lab.create(CLONE_SOURCES, {"metadata": {"name": "from-golden"}, "spec": {"source": origin}})
    reference = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeCloneSource", "name": "from-golden"}
    spec = {**ASKED, "storageClassName": storage_class or lab.fast, "dataSourceRef": reference}
    spec["resources"] = {"requests": {"storage": size}}
    metadata = {"name": "copy", "annotations": annotations or {}}
    return await lab.create(VOLUME_CLAIMS, {"metadata": metadata, "spec": spec}), told


async def prime_of(lab: Storage, target: Object, namespace: str = "") -> Object:
    where = namespace or lab.namespace
    return await eventually(lambda: lab.client.get(VOLUME_CLAIMS, names.prime_name(target), where))


async def given(lab: Storage, target: Object, namespace: str = "") -> Object:
    """The volume that the target is given in the end, of the prime that was made for it."""
    prime = await lab.provision(names.prime_name(target), namespace)
    volume = prime["spec"]["volumeName"]

    async def look() -> Object | None:
        found = await lab.client.get(VOLUMES, volume)
        return found if found["spec"]["claimRef"]["uid"] == uid_of(target) else None

    return await eventually(look)


async def noted(lab: Storage, word: str, name: str = "copy") -> str:
    """What the event says that the strategy was chosen for, once the claim tells that it is this one."""
    await lab.until(VOLUME_CLAIMS, name, lambda each: _told(each, names.CLONE_TYPE) == word)
    found = await eventually(lambda: lab.messages(name, "CloneStrategySelected"))
    return found[0]


def _told(claim: Object, name: str) -> str:
    return str((claim["metadata"].get("annotations") or {}).get(name, ""))


async def waits(lab: Storage, reason: str) -> str:
    """What the claim says while it waits for that."""
    claim = await lab.until(VOLUME_CLAIMS, "copy", lambda each: _told(each, names.RUNNING_REASON) == reason)
    return _told(claim, names.RUNNING_MESSAGE)


async def test_the_storage_clones(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    target, _ = await clone(lab)
    prime = await prime_of(lab, target)
    assert prime["spec"]["dataSource"] == {"kind": "PersistentVolumeClaim", "name": "golden", "apiGroup": None} or (
        prime["spec"]["dataSource"] == {"kind": "PersistentVolumeClaim", "name": "golden"}
    )
    volume = await given(lab, target)
    await bound(lab, volume)
    assert names.CLONE_STRATEGY in await noted(lab, "csi-clone")
    await lab.gone(VOLUME_CLAIMS, names.prime_name(target))
    assert not (await lab.client.list(PODS, lab.namespace))["items"]


@pytest.mark.parametrize(("word", "needed"), [("csi-clone", "2Gi"), ("copy", "2Gi"), ("snapshot", "3Gi")])
async def test_what_storage_gave_beyond_what_was_asked_for_is_no_hindrance(
    lab: Storage, word: str, needed: str
) -> None:
    """Storage that rounds up gives more than a claim asks for, and takes no less for its clone."""
    await strategy(lab, lab.fast, word)
    await lab.claim("golden")
    await lab.write(VOLUME_CLAIMS, "golden", {"phase": "Bound", "capacity": {"storage": "2Gi"}})
    target, _ = await clone(lab)
    if word == "snapshot":
        await lab.snapshotted(f"tmp-snapshot-{uid_of(target)}", readyToUse=True, restoreSize=needed)
    prime = await prime_of(lab, target)
    assert prime["spec"]["resources"] == {"requests": {"storage": needed}}


async def test_a_pod_copies_the_files_of_an_archive(lab: Storage) -> None:
    await strategy(lab, lab.fast, "copy")
    await lab.claim("golden")
    await lab.change(VOLUME_CLAIMS, "golden", {"metadata": {"annotations": {names.CONTENT_TYPE: "archive"}}})
    target, _ = await clone(lab)
    pod = await eventually(lambda: lab.get(PODS, f"{names.CLONER_PREFIX}{names.prime_name(target)}"))
    args = pod["spec"]["containers"][0]["args"]
    assert args[args.index("--content-type") + 1] == "archive"
    await lab.until(VOLUME_CLAIMS, "copy", lambda each: _told(each, names.CONTENT_TYPE) == "archive")


async def test_what_the_storage_clones_of_an_archive_is_known_as_one(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    await lab.change(VOLUME_CLAIMS, "golden", {"metadata": {"annotations": {names.CONTENT_TYPE: "archive"}}})
    target, _ = await clone(lab)
    await bound(lab, await given(lab, target))
    await lab.until(VOLUME_CLAIMS, "copy", lambda each: _told(each, names.CONTENT_TYPE) == "archive")


async def test_a_snapshot_is_cloned_and_goes_when_the_clone_is_there(lab: Storage) -> None:
    await lab.claim("golden")
    target, _ = await clone(lab)
    snapshot = f"tmp-snapshot-{uid_of(target)}"
    made = await eventually(lambda: lab.get(SNAPSHOTS, snapshot))
    assert made["spec"]["source"] == {"persistentVolumeClaimName": "golden"}
    assert await lab.is_gone(VOLUME_CLAIMS, names.prime_name(target))
    await lab.snapshotted(snapshot)
    prime = await prime_of(lab, target)
    assert prime["spec"]["dataSource"]["name"] == snapshot
    await lab.pass_time(2)
    assert "VolumeSnapshotClass" in await noted(lab, "snapshot")
    volume = await given(lab, target)
    await bound(lab, volume)
    await lab.gone(SNAPSHOTS, snapshot)


async def bound(lab: Storage, volume: Object) -> None:
    """The binder: the target has the volume that it was given."""
    await lab.change(VOLUME_CLAIMS, "copy", {"spec": {"volumeName": volume["metadata"]["name"]}})
    await lab.write(VOLUME_CLAIMS, "copy", {"phase": "Bound", "capacity": {"storage": "1Gi"}})


async def test_a_pod_copies_where_nothing_else_can(lab: Storage) -> None:
    await lab.claim("golden", lab.plain)
    target, _ = await clone(lab, lab.plain)
    pod = await eventually(lambda: lab.get(PODS, f"cloner-{names.prime_name(target)}"))
    volumes = {each["name"]: each.get("persistentVolumeClaim") for each in pod["spec"]["volumes"]}
    assert volumes["source"] == {"claimName": "golden", "readOnly": True}
    assert volumes["data"] == {"claimName": names.prime_name(target)}
    (container,) = pod["spec"]["containers"]
    assert container["args"][:6] == ["worker", "copy", "--from", "/source/disk.img", "--to", "/data/disk.img"]
    mounts = {each["name"]: each.get("readOnly", False) for each in container["volumeMounts"]}
    assert mounts["source"] is True
    assert names.TRANSFER in pod["metadata"]["labels"]
    assert "VolumeSnapshotClass" in await noted(lab, "copy")
    await lab.provision(names.prime_name(target))
    await lab.pod_status(pod, phase="Succeeded")
    await eventually(lambda: _is_given(lab, target))


@pytest.mark.parametrize("said", ["by-the-claim", "for-all"])
async def test_what_is_to_have_no_holes_is_copied(lab: Storage, said: str) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    wish = {"metadata": {"name": NAME}, "spec": {"preallocation": said == "for-all"}}
    await lab.client.create(CDI_CONFIGS, {"apiVersion": CDI_CONFIGS.api_version, "kind": CDI_CONFIGS.kind, **wish})
    try:
        target, _ = await clone(lab, annotations={names.PREALLOCATION: "true"} if said == "by-the-claim" else {})
        pod = await eventually(lambda: lab.get(PODS, f"cloner-{names.prime_name(target)}"))
        assert "--preallocate" in pod["spec"]["containers"][0]["args"]
        assert "preallocation is asked for" in await noted(lab, "copy")
    finally:
        await lab.client.delete(CDI_CONFIGS, NAME)


async def test_files_have_no_holes_and_are_cloned_by_the_storage(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    await lab.change(VOLUME_CLAIMS, "golden", {"metadata": {"annotations": {names.CONTENT_TYPE: "archive"}}})
    target, _ = await clone(lab, annotations={names.PREALLOCATION: "true"})
    assert (await prime_of(lab, target))["spec"]["dataSource"]["kind"] == "PersistentVolumeClaim"


async def _is_given(lab: Storage, target: Object) -> bool:
    volumes = (await lab.client.list(VOLUMES))["items"]
    return any((each["spec"].get("claimRef") or {}).get("uid") == uid_of(target) for each in volumes)


def writer(name: str = "writer", **claim: Any) -> Object:
    container = {"name": "main", "image": "none", "volumeMounts": [{"name": "disk", "mountPath": "/disk"}]}
    volumes = [{"name": "disk", "persistentVolumeClaim": {"claimName": "golden", **claim}}]
    return {"metadata": {"name": name}, "spec": {"containers": [container], "volumes": volumes}}


async def test_a_source_that_somebody_writes_to_is_not_copied(lab: Storage) -> None:
    await lab.claim("golden", lab.plain)
    await lab.create(PODS, writer())
    target, _ = await clone(lab, lab.plain)
    assert 'in use by pod "writer"' in await waits(lab, "CloneSourceInUse")
    assert await lab.is_gone(PODS, f"cloner-{names.prime_name(target)}")
    await lab.client.delete(PODS, "writer", lab.namespace, grace_period=0)
    await lab.pass_time(10)
    await eventually(lambda: lab.get(PODS, f"cloner-{names.prime_name(target)}"))


async def test_a_copy_during_which_somebody_began_to_write_is_thrown_away(lab: Storage) -> None:
    await lab.claim("golden", lab.plain)
    target, _ = await clone(lab, lab.plain)
    first = await eventually(lambda: lab.get(PODS, f"cloner-{names.prime_name(target)}"))
    await lab.provision(names.prime_name(target))
    await lab.create(PODS, writer())
    await lab.pod_status(first, phase="Succeeded")
    await waits(lab, "CloneSourceInUse")
    assert not await _is_given(lab, target)
    await lab.client.delete(PODS, "writer", lab.namespace, grace_period=0)

    async def another() -> bool:
        await lab.end_pods()
        await lab.pass_time(10)
        found = await lab.get(PODS, f"cloner-{names.prime_name(target)}")
        return uid_of(found) != uid_of(first)

    await eventually(another)


async def test_a_source_in_use_is_cloned_by_a_snapshot_where_there_are_any(lab: Storage) -> None:
    """CSI promises no clone of one moment while somebody writes."""
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    await lab.create(PODS, writer())
    target, _ = await clone(lab)
    await lab.snapshotted(f"tmp-snapshot-{uid_of(target)}")
    prime = await prime_of(lab, target)
    assert prime["spec"]["dataSource"]["kind"] == "VolumeSnapshot"
    await lab.pass_time(2)
    assert 'while the source is in use by pod "writer"; there is' in await noted(lab, "snapshot")
    await given(lab, target)


async def test_a_source_in_use_is_waited_for_by_storage_without_snapshots(lab: Storage) -> None:
    await strategy(lab, lab.plain, "csi-clone")
    await lab.claim("golden", lab.plain)
    await lab.create(PODS, writer())
    target, _ = await clone(lab, lab.plain)
    assert 'in use by pod "writer"' in await waits(lab, "CloneSourceInUse")
    assert await lab.is_gone(VOLUME_CLAIMS, names.prime_name(target))
    await lab.client.delete(PODS, "writer", lab.namespace, grace_period=0)
    await lab.pass_time(10)
    # By the storage, or by a pod where the writer goes between the looks of the choice and of the copy.
    assert await prime_of(lab, target)


async def test_a_source_that_is_only_read_is_cloned_by_the_storage(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    await lab.create(PODS, writer(readOnly=True))
    target, _ = await clone(lab)
    assert (await prime_of(lab, target))["spec"]["dataSource"]["kind"] == "PersistentVolumeClaim"
    await given(lab, target)


async def test_a_source_that_is_not_there_or_not_filled_is_waited_for(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    target, _ = await clone(lab)
    assert f'"{lab.namespace}/golden"' in await waits(lab, "CloneSourceNotFound")
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "golden"}, "spec": {**ASKED, "storageClassName": lab.fast}})
    assert "not filled yet" in await waits(lab, "CloneSourceNotReady")
    await lab.provision("golden")
    await given(lab, target)


async def test_a_claim_that_is_bound_and_still_takes_its_upload_is_waited_for(lab: Storage) -> None:
    """G1: storage that shares blocks would clone half of it."""
    await strategy(lab, lab.fast, "csi-clone")
    wanted = {"name": "golden", "annotations": {names.UPLOAD_TARGET: ""}}
    await lab.create(VOLUME_CLAIMS, {"metadata": wanted, "spec": {**ASKED, "storageClassName": lab.fast}})
    await lab.provision("golden")
    target, _ = await clone(lab)
    assert "not filled yet" in await waits(lab, "CloneSourceNotReady")
    assert await lab.is_gone(VOLUME_CLAIMS, names.prime_name(target))
    await lab.change(VOLUME_CLAIMS, "golden", {"metadata": {"annotations": {names.POD_PHASE: "Succeeded"}}})
    await given(lab, target)


async def test_a_source_that_is_too_large_is_final(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    await clone(lab, size="512Mi")
    failed = await lab.until(VOLUME_CLAIMS, "copy", lambda each: _told(each, names.FAILURE))
    failure = json.loads(_told(failed, names.FAILURE))
    assert failure["reason"] == "CloneSourceTooLarge"
    assert "512Mi is less than the 1Gi" in failure["message"]


@pytest.mark.parametrize(
    ("made", "held", "reason", "why"),
    [
        ({}, "archive", "CloneContentTypeMismatch", "spec.contentType: archive is expected"),
        ({"contentType": "archive"}, "kubevirt", "CloneContentTypeMismatch", "spec.contentType: kubevirt is expected"),
        (
            {"pvc": {**ASKED, "resources": {"requests": {"storage": "512Mi"}}}},
            "kubevirt",
            "CloneSourceTooLarge",
            "spec.pvc.resources.requests.storage: 512Mi is less than the 1Gi",
        ),
    ],
)
async def test_a_volume_that_does_not_suit_what_came_later_has_failed(
    lab: Storage, made: Object, held: str, reason: str, why: str
) -> None:
    """As it is refused where the source is there before."""
    source = {"source": {"pvc": {"namespace": lab.namespace, "name": "golden"}}}
    wanted = data_volume(source, storageClassName=lab.fast)
    wanted["spec"].update(made)
    wanted["spec"]["pvc"] = {**wanted["spec"]["pvc"], "storageClassName": lab.fast}
    await lab.create(DATA_VOLUMES, wanted)
    origin = {"name": "golden", "annotations": {names.CONTENT_TYPE: held}}
    await lab.create(VOLUME_CLAIMS, {"metadata": origin, "spec": {**ASKED, "storageClassName": lab.fast}})
    await lab.provision("golden")
    failed = await lab.until(DATA_VOLUMES, "copy", lambda each: (each.get("status") or {}).get("phase") == "Failed")
    told = condition(failed, "Ready") or {}
    assert told["reason"] == reason
    assert why in told["message"]
    assert told["message"].endswith("Make the DataVolume anew, final")


async def test_a_source_that_goes_in_the_middle(lab: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await lab.claim("golden")
    target, _ = await clone(lab)
    await prime_of(lab, target)
    await lab.client.delete(VOLUME_CLAIMS, "golden", lab.namespace)
    await lab.gone(VOLUME_CLAIMS, "golden")
    # What the storage has taken is a whole, whatever becomes of the original.
    await given(lab, target)


async def test_a_snapshot_is_a_source(lab: Storage) -> None:
    await lab.claim("golden")
    target, _ = await clone(lab, kind="VolumeSnapshot", name="shot", apiGroup="snapshot.storage.k8s.io")
    await waits(lab, "CloneSourceNotFound")
    shot = {"source": {"persistentVolumeClaimName": "golden"}, "volumeSnapshotClassName": lab.fast}
    await lab.create(SNAPSHOTS, {"metadata": {"name": "shot"}, "spec": shot})
    await waits(lab, "CloneSourceNotReady")
    await lab.snapshotted("shot")
    prime = await prime_of(lab, target)
    assert prime["spec"]["dataSource"]["name"] == "shot"
    volume = await given(lab, target)
    await bound(lab, volume)
    await lab.gone(VOLUME_CLAIMS, names.prime_name(target))
    assert await lab.get(SNAPSHOTS, "shot"), "it is not ours to delete"


def data_volume(source: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "copy"}, "spec": {**source, "pvc": ASKED | spec}}


async def test_a_data_volume_clones_from_another_namespace(lab: Storage, elsewhere: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await elsewhere.claim("golden")
    source = {"source": {"pvc": {"namespace": elsewhere.namespace, "name": "golden"}}}
    await lab.create(DATA_VOLUMES, data_volume(source, storageClassName=lab.fast))
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    prime = await prime_of(lab, target, elsewhere.namespace)
    assert prime["spec"]["dataSource"]["name"] == "golden"
    volume = await given(lab, target, elsewhere.namespace)
    assert volume["spec"]["claimRef"]["namespace"] == lab.namespace
    await bound(lab, volume)
    await lab.until(DATA_VOLUMES, "copy", lambda each: (each.get("status") or {}).get("phase") == "Succeeded")
    await elsewhere.gone(VOLUME_CLAIMS, names.prime_name(target))


async def test_who_has_the_prime_in_the_other_namespace_does_not_keep_its_volume(
    lab: Storage, elsewhere: Storage
) -> None:
    """G10: to read only is enough, to see all that is written to the clone later."""
    await strategy(lab, lab.fast, "csi-clone")
    await elsewhere.claim("golden")
    source = {"source": {"pvc": {"namespace": elsewhere.namespace, "name": "golden"}}}
    await lab.create(DATA_VOLUMES, data_volume(source, storageClassName=lab.fast))
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    prime = await prime_of(lab, target, elsewhere.namespace)
    await elsewhere.create(PODS, writer("eye", claimName=names.prime_name(target), readOnly=True))
    # It was bound while nobody looked.
    await elsewhere.write(VOLUME_CLAIMS, prime["metadata"]["name"], {"phase": "Bound"})
    await elsewhere.provision(names.prime_name(target))
    assert 'pod "eye" has it too' in await waits(lab, "PrimeInUse")
    assert not await _is_given(lab, target)
    await elsewhere.client.delete(PODS, "eye", elsewhere.namespace, grace_period=0)
    await lab.pass_time(10)
    await eventually(lambda: _is_given(lab, target))


async def test_nor_does_who_has_one_whose_volume_knows_of_it_first(lab: Storage, elsewhere: Storage) -> None:
    """Binders write into the volume that it is bound, and then into the claim: that changes the volume no more."""
    await strategy(lab, lab.fast, "csi-clone")
    await elsewhere.claim("golden")
    source = {"source": {"pvc": {"namespace": elsewhere.namespace, "name": "golden"}}}
    await lab.create(DATA_VOLUMES, data_volume(source, storageClassName=lab.fast))
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    await prime_of(lab, target, elsewhere.namespace)
    await elsewhere.create(PODS, writer("eye", claimName=names.prime_name(target), readOnly=True))
    await elsewhere.provision(names.prime_name(target), phase="Pending", volume_phase="Bound")
    assert 'pod "eye" has it too' in await waits(lab, "PrimeInUse")
    assert not await _is_given(lab, target)
    await elsewhere.client.delete(PODS, "eye", elsewhere.namespace, grace_period=0)
    await lab.pass_time(10)
    await eventually(lambda: _is_given(lab, target))


async def test_a_data_source_leads_to_another_namespace(lab: Storage, elsewhere: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await elsewhere.claim("golden")
    link = {"source": {"pvc": {"namespace": elsewhere.namespace, "name": "golden"}}}
    await elsewhere.create(DATA_SOURCES, {"metadata": {"name": "linux"}, "spec": link})
    reference = {"sourceRef": {"kind": "DataSource", "namespace": elsewhere.namespace, "name": "linux"}}
    await lab.create(DATA_VOLUMES, data_volume(reference, storageClassName=lab.fast))
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    await given(lab, target, elsewhere.namespace)


async def test_an_annotation_alone_leads_nowhere(lab: Storage, elsewhere: Storage) -> None:
    await strategy(lab, lab.fast, "csi-clone")
    await elsewhere.claim("golden")
    target, told = await clone(lab)
    mark = {"metadata": {"annotations": {names.SOURCE_NAMESPACE: elsewhere.namespace}}}
    await lab.change(CLONE_SOURCES, told["metadata"]["name"], mark)
    assert "only a DataVolume may clone" in await waits(lab, "CloneNotAllowed")
    # Nor does one that a DataVolume stands behind which names something else.
    other = await lab.create(DATA_VOLUMES, {**data_volume({"source": {"blank": {}}}), "metadata": {"name": "blank"}})
    reference = {
        "apiVersion": other["apiVersion"],
        "kind": other["kind"],
        "name": "blank",
        "uid": uid_of(other),
        "controller": True,
    }
    await lab.change(CLONE_SOURCES, told["metadata"]["name"], {"metadata": {"ownerReferences": [reference]}})
    await lab.pass_time(10)
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "golden"}, "spec": {**ASKED, "storageClassName": lab.fast}})
    await lab.heard("copy", "CloneNotAllowed")
    assert await elsewhere.is_gone(VOLUME_CLAIMS, names.prime_name(target))


async def test_a_source_that_was_replaced_is_cloned_anew(lab: Storage) -> None:
    await lab.claim("golden", lab.plain)
    await lab.claim("silver", lab.plain)
    target, told = await clone(lab, lab.plain)
    worker = f"{names.CLONER_PREFIX}{names.prime_name(target)}"
    former = await eventually(lambda: lab.get(PODS, worker))
    await replaced(lab, told, "silver")

    async def another() -> bool:
        await lab.end_pods()
        await lab.end_claims()
        return uid_of(await lab.get(PODS, worker)) != uid_of(former)

    await eventually(another)
    volumes = (await lab.get(PODS, worker))["spec"]["volumes"]
    assert {"claimName": "silver", "readOnly": True} in [each.get("persistentVolumeClaim") for each in volumes]
    await lab.heard("copy", "SourceChanged")


async def test_a_snapshot_of_what_the_source_named_before_is_not_cloned(lab: Storage) -> None:
    """There is no prime yet that would tell."""
    await lab.claim("golden")
    await lab.claim("silver")
    target, told = await clone(lab)
    snapshot = f"tmp-snapshot-{uid_of(target)}"
    former = await eventually(lambda: lab.get(SNAPSHOTS, snapshot))
    await replaced(lab, told, "silver")

    async def another() -> bool:
        await lab.pass_time(5)
        found = await lab.get(SNAPSHOTS, snapshot)
        return uid_of(found) != uid_of(former) and found["spec"]["source"]["persistentVolumeClaimName"] == "silver"

    await eventually(another)
    assert await lab.is_gone(VOLUME_CLAIMS, names.prime_name(target))


async def replaced(lab: Storage, told: Object, name: str) -> None:
    """Somebody makes the VolumeCloneSource anew, with another claim."""
    await lab.client.delete(CLONE_SOURCES, "from-golden", lab.namespace)
    spec = {"source": {**told["spec"]["source"], "name": name}}
    await lab.create(CLONE_SOURCES, {"metadata": {"name": "from-golden"}, "spec": spec})


async def test_a_data_volume_goes_on_where_what_tells_how_is_deleted(lab: Storage) -> None:
    await lab.claim("golden", lab.plain)
    source = {"source": {"pvc": {"namespace": lab.namespace, "name": "golden"}}}
    await lab.create(DATA_VOLUMES, data_volume(source, storageClassName=lab.plain))
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    worker = f"{names.CLONER_PREFIX}{names.prime_name(target)}"
    former = await eventually(lambda: lab.get(PODS, worker))
    await lab.pass_time(5)
    name = target["spec"]["dataSourceRef"]["name"]
    told = await lab.get(CLONE_SOURCES, name)
    await lab.client.delete(CLONE_SOURCES, name, lab.namespace)
    await lab.until(CLONE_SOURCES, name, lambda each: uid_of(each) != uid_of(told))
    await lab.provision(names.prime_name(target))
    await lab.pod_status(former, phase="Succeeded")
    await eventually(lambda: _is_given(lab, target))
    assert uid_of(await lab.get(PODS, worker)) == uid_of(former)
    assert "deletionTimestamp" not in (await lab.get(PODS, worker))["metadata"]
