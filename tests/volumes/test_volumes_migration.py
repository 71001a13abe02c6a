"""An installation from before there were DataSources is moved to them, then to automatic images, and its claims are
not touched by that (G4, G5, G7)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from eventual import eventually
from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, NAMESPACES, SSPS, TEMPLATES
from ingot.api.status import ApiError
from ingot.cli.main import cli
from ingot.control.golden import common
from ingot.images.reference import Reference
from ingot.kube.client import Client
from ingot.kube.objects import is_true
from ingot_up import IngotUp
from volumes.shelf import Shelf, ingot, volume
from volumes.test_volumes_golden import publish
from volumes.wares import MIB, SIZE, Wares, sparse_bytes

NAME = "fedora-server-small"
CRON = "fedora-image-cron"


@pytest.fixture
async def images(client: Client, whole: IngotUp) -> AsyncIterator[Shelf]:
    """The namespace of golden images, new: other tests may have left theirs."""
    await clear(client)
    await client.create(NAMESPACES, {"metadata": {"name": common.NAMESPACE}})
    yield Shelf(client, common.NAMESPACE, whole)
    await clear(client)


async def clear(client: Client) -> None:
    for ssp in (await client.list(SSPS))["items"]:
        await client.delete(SSPS, name_of(ssp), ssp["metadata"]["namespace"])

    async def namespaces() -> set[str]:
        return {name_of(each) for each in (await client.list(NAMESPACES))["items"]}

    if common.NAMESPACE in await namespaces():
        await client.delete(NAMESPACES, common.NAMESPACE)

    async def gone() -> bool:
        return common.NAMESPACE not in await namespaces() and not (await client.list(SSPS))["items"]

    await eventually(gone)


def before_form() -> Object:
    """The common template as it was before: the claim itself is cloned."""
    template = next(each for each in common.templates() if name_of(each) == NAME)
    spec = template["objects"][0]["spec"]["dataVolumeTemplates"][0]["spec"]
    del spec["sourceRef"]
    spec["source"] = {"pvc": {"name": "fedora", "namespace": "golden-images"}}
    return template


async def stamped(shelf: Shelf, machine: str, directory: Path) -> None:
    """A machine from the template, as a person makes it; its disk is filled."""
    command = ["template", "process", NAME, "-p", f"NAME={machine}", "-n", shelf.namespace]
    given = [*command, "--kubeconfig", str(shelf.server.kubeconfig)]
    made = await asyncio.to_thread(CliRunner().invoke, cli, given)
    assert made.exit_code == 0, made.output
    file = directory / f"{machine}.yaml"
    file.write_text(made.stdout)
    await ingot(shelf.server, "apply", "-f", str(file), "-n", shelf.namespace)

    async def begun() -> Object:
        return await shelf.get(machine)

    await eventually(begun)
    await shelf.filled(machine)


async def told(claims: Iterable[tuple[Shelf, str]]) -> dict[str, Object]:
    """What claims are and what they hold. Disks are much larger than what is in them: of the rest it is told when they
    were last written to."""
    found: dict[str, Object] = {}
    for shelf, name in claims:
        claim = await shelf.claim(name)
        disk = (await shelf.place(name) / "disk.img").stat()
        found[f"{shelf.namespace}/{name}"] = {
            "uid": uid_of(claim),
            "spec": claim["spec"],
            "file": (disk.st_ino, disk.st_size, disk.st_blocks, disk.st_mtime_ns),
            "content": hashlib.sha256(await shelf.content(name, SIZE)).hexdigest(),
        }
    return found


async def source_of(client: Client) -> Object:
    return await client.get(DATA_SOURCES, "fedora", common.NAMESPACE)


async def test_before_after_and_automatic(
    shelf: Shelf, images: Shelf, whole: IngotUp, image: str, wares: Wares, tmp_path: Path
) -> None:
    client = shelf.client
    await images.make(volume("fedora", {"registry": {"url": image}}))
    await images.filled("fedora")
    (tmp_path / "before.yaml").write_text(yaml.safe_dump(before_form()))
    await ingot(whole, "apply", "-f", str(tmp_path / "before.yaml"), "-n", shelf.namespace)
    await stamped(shelf, "before", tmp_path)
    assert await shelf.content("before", SIZE) == wares.disk
    untouched = {(images, "fedora"), (shelf, "before")}
    as_before = await told(untouched)
    metadata = (await images.claim("fedora"))["metadata"]

    spec: Object = {"commonTemplates": {"dataImportCronTemplates": []}}
    await shelf.create(SSPS, "ssp-cr", spec)

    async def linked() -> bool:
        template = await client.get(TEMPLATES, NAME, shelf.namespace)
        after = "sourceRef" in template["objects"][0]["spec"]["dataVolumeTemplates"][0]["spec"]
        return after and is_true(await source_of(client), "Ready")

    await eventually(linked)
    assert (await source_of(client))["spec"] == common.dangling("fedora")
    await stamped(shelf, "after", tmp_path)
    assert await shelf.content("after", SIZE) == wares.disk
    assert await told(untouched) == as_before
    assert (await images.claim("fedora"))["metadata"] == metadata
    untouched.add((shelf, "after"))
    as_before = await told(untouched)

    newer = sparse_bytes(4 * MIB, 21)
    reference = Reference.parse(f"{Reference.parse(image).registry}/migrated/fedora:latest")
    publish(tmp_path / "newer.raw", newer, reference)
    template = {"spec": {"source": {"registry": {"url": f"docker://{reference}"}}, "storage": {}}}
    ordered = {"metadata": {"name": CRON}, "spec": {"managedDataSource": "fedora", "template": template}}
    spec["commonTemplates"]["dataImportCronTemplates"] = [ordered]
    await client.patch(SSPS, "ssp-cr", {"spec": spec}, shelf.namespace)

    async def seen() -> bool:
        ssp = await client.get(SSPS, "ssp-cr", shelf.namespace)
        return bool(ssp["status"].get("observedGeneration") == ssp["metadata"]["generation"])

    await eventually(seen)
    # It is theirs, until they say otherwise.
    with pytest.raises(ApiError, match="not found"):
        await client.get(DATA_IMPORT_CRONS, CRON, common.NAMESPACE)
    label = {"metadata": {"labels": {IMPORT_CRON: "true"}}}
    await client.patch(DATA_SOURCES, "fedora", label, common.NAMESPACE)
    pointed = set()

    async def moved() -> bool:
        link = await source_of(client)
        # At no moment is there nothing to clone.
        assert is_true(link, "Ready")
        pointed.add(link["spec"]["source"]["pvc"]["name"])
        return len(pointed) == 2

    await eventually(moved, 60)
    (imported,) = pointed - {"fedora"}
    assert await images.content(imported, 4 * MIB) == newer
    await stamped(shelf, "automatic", tmp_path)
    assert await shelf.content("automatic", 4 * MIB) == newer
    assert await told(untouched) == as_before
    assert (await images.claim("fedora"))["metadata"] == metadata
    owners = (await source_of(client))["metadata"]["ownerReferences"]
    assert [(each["kind"], each["controller"]) for each in owners] == [("DataImportCron", False)]
    await ingot(whole, "delete", *(f"vm/{name}" for name in ("before", "after", "automatic")), "-n", shelf.namespace)
    await shelf.nothing_left()
