"""A golden image on a whole machine, with a real registry: imported, served, replaced and cleared away (G3, G11)."""

from __future__ import annotations

import json
from pathlib import Path

from eventual import eventually
from ingot.api.cdi.names import CHECK_NOW, DELTA, DELTA_FROM, DESIRED_DIGEST
from ingot.api.object import Object
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, VOLUME_CLAIMS
from ingot.images.reference import Reference
from ingot.kube.objects import is_true
from ingot_up import IngotUp
from volumes.conftest import new_shelf, push
from volumes.shelf import Shelf, volume
from volumes.wares import MIB, sparse_bytes


def publish(path: Path, content: bytes, reference: Reference) -> None:
    path.write_bytes(content)
    push(path, reference)


async def served(shelf: Shelf, other_than: str = "") -> str:
    """The claim that the DataSource stands for, once it is another, and can be cloned."""

    async def look() -> str:
        link: Object = await shelf.client.get(DATA_SOURCES, "fedora", shelf.namespace)
        name = str((link["spec"]["source"].get("pvc") or {}).get("name", ""))
        return name if name != other_than and is_true(link, "Ready") else ""

    return await eventually(look, 60)


async def test_a_second_version_replaces_the_first_under_those_who_use_it(
    shelf: Shelf, whole: IngotUp, image: str, tmp_path: Path
) -> None:
    reference = Reference.parse(f"{Reference.parse(image).registry}/golden/{shelf.namespace}:latest")
    first = sparse_bytes(4 * MIB, 11)
    second = first[: 2 * MIB] + sparse_bytes(2 * MIB, 12)
    publish(tmp_path / "1.raw", first, reference)
    template = {"spec": {"source": {"registry": {"url": f"docker://{reference}"}}, "storage": {}}}
    spec = {"template": template, "schedule": "0 */12 * * *", "managedDataSource": "fedora", "importsToKeep": 1}
    await shelf.create(DATA_IMPORT_CRONS, "fedora", spec)
    old = await served(shelf)
    assert await shelf.content(old, 4 * MIB) == first

    there = await new_shelf(shelf.client, whole)
    named = {"kind": "DataSource", "name": "fedora", "namespace": shelf.namespace}
    await there.make(volume("before", None, sourceRef=named))
    await there.filled("before")
    publish(tmp_path / "2.raw", second, reference)
    patch = {"metadata": {"annotations": {CHECK_NOW: "now"}}}
    await shelf.client.patch(DATA_IMPORT_CRONS, "fedora", patch, shelf.namespace)
    new = await served(shelf, other_than=old)
    cron = await shelf.client.get(DATA_IMPORT_CRONS, "fedora", shelf.namespace)
    assert new == f"fedora-{cron['metadata']['annotations'][DESIRED_DIGEST].removeprefix('sha256:')[:12]}"
    assert await shelf.content(new, 4 * MIB) == second
    told = (await shelf.claim(new))["metadata"]["annotations"]
    assert told[DELTA_FROM] == old
    assert json.loads(told[DELTA])["reused"] == MIB // 2, "X4: what both have is not fetched"
    await there.make(volume("after", None, sourceRef=named))
    await there.filled("after")
    assert await there.content("before", 4 * MIB) == first
    assert await there.content("after", 4 * MIB) == second

    async def cleared() -> bool:
        claims = (await shelf.client.list(VOLUME_CLAIMS, shelf.namespace))["items"]
        return [each["metadata"]["name"] for each in claims] == [new]

    await eventually(cleared)
    assert await there.content("before", 4 * MIB) == first
