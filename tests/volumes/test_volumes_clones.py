"""Clones of claims, snapshots and golden images, and claims that name a populator (G2, G10)."""

from __future__ import annotations

import re
from functools import partial

import pytest

from eventual import eventually
from guest.servers.nginx import Nginx
from ingot.api.cdi.names import CLONE_TYPE, GROUP, IMMEDIATE
from ingot.api.object import Object
from ingot.api.resources import CLONE_SOURCES, DATA_SOURCES, IMPORT_SOURCES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.objects import condition
from ingot_up import IngotUp
from volumes.conftest import new_shelf
from volumes.shelf import Shelf, ingot, phase, volume
from volumes.wares import SIZE, Wares


@pytest.fixture
async def golden(shelf: Shelf, web: Nginx) -> str:
    """A filled claim."""
    await shelf.make(volume("golden", {"http": {"url": f"{web.http}/disk.qcow2"}}))
    await shelf.filled("golden")
    return "golden"


async def test_a_claim_is_cloned_here_there_and_by_a_name_that_stays(
    shelf: Shelf, client: Client, whole: IngotUp, golden: str, wares: Wares
) -> None:
    there = await new_shelf(client, whole)
    place = {"namespace": shelf.namespace, "name": golden}
    await shelf.create(DATA_SOURCES, "newest", {"source": {"pvc": place}})
    reference = {"kind": "DataSource", "name": "newest", "namespace": shelf.namespace}
    await shelf.make(volume("here", {"pvc": place}, "64Mi"), volume("named", None, sourceRef=reference))
    await there.make(volume("there", {"pvc": place}))
    for where, name in ((shelf, "here"), (shelf, "named"), (there, "there")):
        await where.filled(name)
        assert await where.content(name, SIZE) == wares.disk
        claim = await where.claim(name)
        (why,) = await eventually(partial(where.events, claim, "CloneStrategySelected"))
        assert why.startswith(f"clone strategy {claim['metadata']['annotations'][CLONE_TYPE]}: ")
    await there.idle()
    assert (await shelf.claim("here"))["status"]["capacity"]["storage"] == "64Mi"


@pytest.mark.parametrize("populated", [False, True])
async def test_the_files_of_an_archive_are_cloned_and_cloned_again(shelf: Shelf, web: Nginx, populated: bool) -> None:
    """Whether a DataVolume has unpacked it, or a claim with a source of its own."""
    source = {"http": {"url": f"{web.http}/files.tar"}}
    if populated:
        await shelf.create(IMPORT_SOURCES, "files", {"source": source, "contentType": "archive"})
        await shelf.create(VOLUME_CLAIMS, "files", _claim("files", IMPORT_SOURCES.kind), {IMMEDIATE: "true"})
    else:
        await shelf.make(volume("files", source, "8Mi", contentType="archive"))
        await shelf.filled("files")
    for name, source in (("second", "files"), ("third", "second")):
        origin = {"pvc": {"namespace": shelf.namespace, "name": source}}
        await shelf.make(volume(name, origin, contentType="archive"))
        await shelf.filled(name)
        place = await shelf.place(name)
        assert (place / "one.txt").read_text() == "one\n"
        assert (place / "sub" / "two.txt").read_text() == "two\n"
        assert not (place / "disk.img").exists()
    with pytest.raises(ApiError, match=r"spec\.source\.pvc: .*spec\.contentType: archive is expected"):
        await shelf.make(volume("disk", origin))
    assert "is ready" in await ingot(shelf.server, "volume", "clone", "third", "fourth", "-n", shelf.namespace)
    assert (await shelf.place("fourth") / "one.txt").read_text() == "one\n"


async def test_the_files_of_an_archive_are_restored_and_cloned(shelf: Shelf, web: Nginx) -> None:
    """Also when the volume that the snapshot was taken of is gone."""
    where = ("-n", shelf.namespace)
    await shelf.make(volume("files", {"http": {"url": f"{web.http}/files.tar"}}, "8Mi", contentType="archive"))
    await shelf.filled("files")
    await ingot(shelf.server, "volume", "snapshot", "files", "shot", *where)
    await ingot(shelf.server, "volume", "restore", "shot", "restored", *where)
    await ingot(shelf.server, "volume", "rm", "files", *where)
    with pytest.raises(ApiError, match=r"spec\.source\.snapshot: .*spec\.contentType: archive is expected"):
        await shelf.make(volume("disk", {"snapshot": {"namespace": shelf.namespace, "name": "shot"}}))
    await ingot(shelf.server, "volume", "restore", "shot", "again", *where)
    for name in ("restored", "again"):
        await ingot(shelf.server, "volume", "clone", name, f"{name}-copy", *where)
        assert (await shelf.place(f"{name}-copy") / "one.txt").read_text() == "one\n"


async def test_a_snapshot_keeps_what_its_volume_had(shelf: Shelf, client: Client, golden: str, wares: Wares) -> None:
    spec = {"source": {"persistentVolumeClaimName": golden}}
    await shelf.create(SNAPSHOTS, "before", spec)

    async def ready() -> bool:
        found = await client.get(SNAPSHOTS, "before", shelf.namespace)
        return bool((found.get("status") or {}).get("readyToUse"))

    await eventually(ready)
    disk = (await shelf.place(golden)) / "disk.img"
    with disk.open("r+b") as file:
        file.write(b"changed afterwards")
    await shelf.make(volume("restored", {"snapshot": {"namespace": shelf.namespace, "name": "before"}}))
    await shelf.filled("restored")
    assert await shelf.content("restored", SIZE) == wares.disk


@pytest.mark.parametrize(("mode", "other"), [("Block", "Filesystem"), ("Filesystem", "Block")])
async def test_a_snapshot_is_restored_as_it_was_and_in_the_other_mode(
    shelf: Shelf, web: Nginx, wares: Wares, mode: str, other: str
) -> None:
    await shelf.make(volume("golden", {"http": {"url": f"{web.http}/disk.qcow2"}}, storage={"volumeMode": mode}))
    await shelf.filled("golden")
    where = ("-n", shelf.namespace)
    await ingot(shelf.server, "volume", "snapshot", "golden", "shot", *where)
    await ingot(shelf.server, "volume", "restore", "shot", "same", *where)
    source = {"snapshot": {"namespace": shelf.namespace, "name": "shot"}}
    await shelf.make(volume("other", source, storage={"volumeMode": other}))
    await shelf.filled("other")
    for name, expected in (("same", mode), ("other", other)):
        assert (await shelf.claim(name))["spec"]["volumeMode"] == expected
        assert await shelf.content(name, SIZE) == wares.disk
    (why,) = await eventually(partial(shelf.events, await shelf.claim("other"), "CloneStrategySelected"))
    assert why == f"clone strategy copy: volumeMode of the source is {mode}, of the target {other}"

    async def alone() -> bool:
        claims = (await shelf.client.list(VOLUME_CLAIMS, shelf.namespace))["items"]
        return {each["metadata"]["name"] for each in claims} == {"golden", "same", "other"}

    await eventually(alone)
    await shelf.idle()


async def test_a_target_that_is_too_small_is_refused_or_fails_in_the_same_words(shelf: Shelf, web: Nginx) -> None:
    """The latter where its source comes later."""
    place = {"namespace": shelf.namespace, "name": "golden"}
    await shelf.make(volume("small", {"pvc": place}, "1Mi"))
    await shelf.make(volume("golden", {"http": {"url": f"{web.http}/disk.qcow2"}}))
    found = await shelf.until("small", lambda each: phase(each) == "Failed")
    why = "spec.storage.resources.requests.storage: 1Mi is less than the 16Mi of PersistentVolumeClaim"
    assert why in (condition(found, "Ready") or {})["message"]
    await shelf.filled("golden")
    with pytest.raises(ApiError, match=re.escape(why)):
        await shelf.make(volume("smaller", {"pvc": place}, "1Mi"))


def _claim(name: str, kind: str) -> Object:
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "32Mi"}},
        "dataSourceRef": {"apiGroup": GROUP, "kind": kind, "name": name},
    }


async def test_claims_that_name_a_populator_are_filled_by_the_same_code(
    shelf: Shelf, web: Nginx, golden: str, wares: Wares
) -> None:
    source = {"source": {"http": {"url": f"{web.http}/disk.qcow2"}}}
    clone = {"source": {"kind": "PersistentVolumeClaim", "name": golden}}
    for resource, name, spec in ((IMPORT_SOURCES, "imported", source), (CLONE_SOURCES, "cloned", clone)):
        await shelf.create(resource, name, spec)
        await shelf.create(VOLUME_CLAIMS, name, _claim(name, resource.kind), {IMMEDIATE: "true"})
    for name in ("imported", "cloned"):

        async def bound(name: str = name) -> bool:
            return bool((await shelf.claim(name))["status"].get("phase") == "Bound")

        await eventually(bound)
        assert await shelf.content(name, SIZE) == wares.disk
    await shelf.idle()
