"""Clones from another namespace: the right to read there is asked once, and so is good for one filling (G10)."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from control.storage_world import Storage, at_work
from control.world import World
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_SOURCES,
    DATA_VOLUMES,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.marks import annotation, phase_of
from ingot.control.volumes.populator import Populators
from ingot.kube.objects import condition

ASKED = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
FINALIZER = "ingot.io/held-by-the-test"


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[Storage]:
    async with at_work(bare, Populators, DataVolumes) as storage:
        yield storage
    await storage.forget_clones()


@pytest.fixture
async def golden(lab: Storage) -> str:
    """The namespace of a claim `golden`, whose storage clones it."""
    namespace = f"golden-{uuid4().hex[:8]}"
    await lab.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    world = World(lab.client, namespace, lab.clock)
    await world.until(SERVICE_ACCOUNTS, "default", bool)
    elsewhere = Storage(world)
    elsewhere.fast, elsewhere.plain = lab.fast, lab.plain
    await lab.client.patch(
        STORAGE_CLASSES, lab.fast, {"metadata": {"annotations": {names.CLONE_STRATEGY: "csi-clone"}}}
    )
    await elsewhere.claim("golden")
    return namespace


async def volume_of(lab: Storage, golden: str) -> Object:
    """A DataVolume `copy` that somebody with the right has made."""
    source = {"pvc": {"namespace": golden, "name": "golden"}}
    spec = {"source": source, "pvc": {**ASKED, "storageClassName": lab.fast}}
    return await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})


async def filled(lab: Storage, golden: str) -> Object:
    """The DataVolume, once it is filled."""
    await volume_of(lab, golden)
    return await finished(lab, golden)


async def finished(lab: Storage, golden: str) -> Object:
    """The DataVolume `copy`, whose storage has done its work."""
    target = await eventually(lambda: lab.get(VOLUME_CLAIMS, "copy"))
    prime = await lab.provision(names.prime_name(target), golden)
    given = prime["spec"]["volumeName"]

    async def is_given() -> bool:
        return bool((await lab.client.get(VOLUMES, given))["spec"]["claimRef"]["uid"] == uid_of(target))

    await eventually(is_given)
    await lab.change(VOLUME_CLAIMS, "copy", {"spec": {"volumeName": given}})
    await lab.write(VOLUME_CLAIMS, "copy", {"phase": "Bound"})
    return await lab.until(DATA_VOLUMES, "copy", lambda each: phase_of(each) == "Succeeded")


def told_by(volume: Object, golden: str, name: str, **metadata: object) -> Object:
    """A VolumeCloneSource that says it is the DataVolume's."""
    owner = {key: volume[key] for key in ("apiVersion", "kind")}
    reference = {**owner, "name": name_of(volume), "uid": uid_of(volume), "controller": True}
    return {
        "metadata": {
            "name": name,
            "annotations": {names.SOURCE_NAMESPACE: golden},
            "ownerReferences": [reference],
            **metadata,
        },
        "spec": {"source": {"kind": VOLUME_CLAIMS.kind, "name": "golden"}},
    }


def claim_of(lab: Storage, name: str, told: Object) -> Object:
    """A claim that asks to be filled so, and has the same owners."""
    reference = {"apiGroup": names.GROUP, "kind": CLONE_SOURCES.kind, "name": name_of(told)}
    metadata = {"name": name, "ownerReferences": told["metadata"]["ownerReferences"]}
    return {"metadata": metadata, "spec": {**ASKED, "storageClassName": lab.fast, "dataSourceRef": reference}}


async def refused(lab: Storage, golden: str, name: str) -> None:
    claim = await lab.until(
        VOLUME_CLAIMS, name, lambda each: annotation(each, names.RUNNING_REASON) == "CloneNotAllowed"
    )
    primes = [name_of(each) for each in (await lab.client.list(VOLUME_CLAIMS, golden))["items"]]
    assert names.prime_name(claim) not in primes


async def test_a_claim_that_was_filled_from_elsewhere_is_not_filled_anew(lab: Storage, golden: str) -> None:
    volume = await filled(lab, golden)
    await lab.change(VOLUME_CLAIMS, "copy", {"metadata": {"annotations": {names.POD_PHASE: "Running"}}})
    await lab.delete_claim("copy")
    failed = await lab.until(DATA_VOLUMES, "copy", lambda each: phase_of(each) == "Failed")
    ready = condition(failed, "Ready") or {}
    assert ready["reason"] == "CloneRightNotAsked"
    assert "make it anew" in ready["message"]
    await lab.heard("copy", "CloneRightNotAsked")
    assert await lab.is_gone(VOLUME_CLAIMS, "copy")
    # Nor does anybody get it filled who makes by hand what was made for it.
    source = f"{names.CLONE_SOURCE_PREFIX}{uid_of(volume)}"
    assert await lab.is_gone(CLONE_SOURCES, source)
    told = await lab.create(CLONE_SOURCES, told_by(volume, golden, source))
    await lab.create(VOLUME_CLAIMS, claim_of(lab, "copy", told))
    await refused(lab, golden, "copy")


async def test_a_clone_goes_on_when_its_golden_image_moves_to_the_next_version(lab: Storage, golden: str) -> None:
    """G3: whoever moves the DataSource under a clone that was begun, as when a cron takes over what a person had."""
    link = {
        "apiVersion": DATA_SOURCES.api_version,
        "kind": DATA_SOURCES.kind,
        "metadata": {"name": "fedora", "namespace": golden},
        "spec": {"source": {"pvc": {"namespace": golden, "name": "golden"}}},
    }
    await lab.client.create(DATA_SOURCES, link)
    reference = {"kind": "DataSource", "namespace": golden, "name": "fedora"}
    spec = {"sourceRef": reference, "pvc": {**ASKED, "storageClassName": lab.fast}}
    volume = await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    await eventually(lambda: lab.get(CLONE_SOURCES, f"{names.CLONE_SOURCE_PREFIX}{uid_of(volume)}"))
    moved = {"spec": {"source": {"pvc": {"namespace": golden, "name": "next"}}}}
    await lab.client.patch(DATA_SOURCES, "fedora", moved, golden)
    done = await finished(lab, golden)
    assert done["status"]["origin"] == {"kind": VOLUME_CLAIMS.kind, "namespace": golden, "name": "golden"}


async def test_a_clone_that_is_not_begun_follows_its_golden_image(lab: Storage, golden: str) -> None:
    reference = {"kind": "DataSource", "namespace": golden, "name": "fedora"}
    link = {
        "apiVersion": DATA_SOURCES.api_version,
        "kind": DATA_SOURCES.kind,
        "metadata": {"name": "fedora", "namespace": golden},
        "spec": {"source": {"pvc": {"namespace": golden, "name": "late"}}},
    }
    await lab.client.create(DATA_SOURCES, link)
    spec = {"sourceRef": reference, "pvc": {**ASKED, "storageClassName": lab.fast}}
    await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    await lab.until(DATA_VOLUMES, "copy", lambda each: (each.get("status") or {}).get("origin", {}) != {})
    moved = {"spec": {"source": {"pvc": {"namespace": golden, "name": "golden"}}}}
    await lab.client.patch(DATA_SOURCES, "fedora", moved, golden)
    done = await finished(lab, golden)
    assert done["status"]["origin"]["name"] == "golden"


async def test_a_volume_that_names_its_source_itself_has_no_other(lab: Storage, golden: str) -> None:
    """Whatever its status says: that is for what a DataSource stood for."""
    origin = {"pvc": {"namespace": lab.namespace, "name": "late"}}
    spec = {"source": origin, "pvc": {**ASKED, "storageClassName": lab.fast}}
    volume = await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    told = told_by(volume, golden, f"{names.CLONE_SOURCE_PREFIX}{uid_of(volume)}")
    await lab.create(CLONE_SOURCES, told)
    noted = {"kind": VOLUME_CLAIMS.kind, "namespace": golden, "name": "golden"}
    await lab.write(DATA_VOLUMES, "copy", {"origin": noted})
    await lab.claim("late")
    await refused(lab, golden, "copy")


async def test_a_source_by_another_name_leads_nowhere(lab: Storage, golden: str) -> None:
    volume = await volume_of(lab, golden)
    told = await lab.create(CLONE_SOURCES, told_by(volume, golden, "mine"))
    await lab.create(VOLUME_CLAIMS, claim_of(lab, "again", told))
    await refused(lab, golden, "again")


async def test_the_source_of_a_volume_fills_no_other_claim(lab: Storage, golden: str) -> None:
    volume = await volume_of(lab, golden)
    told = await eventually(lambda: lab.get(CLONE_SOURCES, f"{names.CLONE_SOURCE_PREFIX}{uid_of(volume)}"))
    await lab.create(VOLUME_CLAIMS, claim_of(lab, "again", told))
    await refused(lab, golden, "again")


async def test_a_source_that_is_being_deleted_leads_nowhere(lab: Storage, golden: str) -> None:
    spec = {"source": {"pvc": {"namespace": golden, "name": "late"}}, "pvc": {**ASKED, "storageClassName": lab.fast}}
    volume = await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    name = f"{names.CLONE_SOURCE_PREFIX}{uid_of(volume)}"
    told = told_by(volume, golden, name, finalizers=[FINALIZER])
    told["spec"]["source"]["name"] = "late"
    await lab.create(CLONE_SOURCES, told)
    await lab.client.delete(CLONE_SOURCES, name, lab.namespace)
    try:
        await lab.create(VOLUME_CLAIMS, claim_of(lab, "copy", told))
        await refused(lab, golden, "copy")
    finally:
        await lab.change(CLONE_SOURCES, name, {"metadata": {"finalizers": None}})
