"""Golden images that somebody moves, on a whole machine: to the version that served before, or not at all."""

from __future__ import annotations

import asyncio

import pytest

from eventual import eventually
from images.servers.registry import DockerRegistry
from ingot.api.cdi.names import DESIRED_DIGEST, IMPORT_CRON, PINNED
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, SSPS
from ingot.api.status import ApiError
from ingot.cli.connection import Connection, load_config, session
from ingot.cli.golden.found import find
from ingot.cli.golden.kept import Kept
from ingot.cli.golden.moving import move
from ingot.cli.golden.options import NAMESPACE
from ingot.kube.client import Client
from ingot_up import IngotUp
from volumes.administrator import SIZE, Administrator
from volumes.wares import sparse_bytes


async def pin_of(client: Client, name: str) -> str | None:
    cron = await client.get(DATA_IMPORT_CRONS, name, NAMESPACE)
    found: str | None = cron["metadata"]["annotations"].get(PINNED)
    return found


@pytest.mark.timeout(180)
async def test_a_tag_that_has_moved_back_is_rolled_back_to_what_served_before(
    administrator: Administrator, client: Client, registry: DockerRegistry
) -> None:
    golden, reference = administrator.golden, f"{registry.host}/os/moving:latest"
    await administrator.push(1, reference)
    await golden("add", reference, "--name", "moving", "--private")
    for seed, told in ((3, "a new version latest@"), (1, "its source has moved back to latest@"), (4, "a new version")):
        await administrator.push(seed, reference)
        assert told in await golden("check", "moving")
    said = await golden("rollback", "moving", "latest", code=1)
    assert '"latest" may be any of latest@' in said
    late = await golden("rollback", "moving", "--timeout", "0s", code=1)
    assert "Its pin was taken back: it follows its source as before" in late
    assert await pin_of(client, "moving") is None
    # A pin that stood for a moment may be followed for a moment, also after it was taken back.
    await golden("check", "moving")

    async def is_back() -> bool:
        return await administrator.content("moving") == sparse_bytes(SIZE, 4)

    await eventually(is_back)
    assert "moving stands for latest@" in await golden("rollback", "moving")
    assert await administrator.content("moving") == sparse_bytes(SIZE, 1), "3 was withdrawn"
    pinned = await pin_of(client, "moving")
    late = await golden("rollback", "moving", str((await administrator.row("moving"))["digest"]), code=1)
    assert "already; `ingot golden pin moving` keeps it there" in late
    newest = next(row for row in await administrator.rows("history", "moving") if row["state"] == "kept")
    late = await golden("rollback", "moving", str(newest["digest"]), "--timeout", "0s", code=1)
    assert "as before" in late
    assert await pin_of(client, "moving") == pinned
    await golden("rm", "moving")


@pytest.mark.timeout(120)
async def test_a_pin_is_taken_back_when_the_command_is_interrupted(
    administrator: Administrator, client: Client, registry: DockerRegistry, whole: IngotUp
) -> None:
    reference = f"{registry.host}/os/waiting:latest"
    await administrator.push(1, reference)
    await administrator.golden("add", reference, "--name", "waiting", "--private")
    far = "sha256:" + "f" * 64
    nowhere = Kept({"metadata": {"annotations": {DESIRED_DIGEST: far}}}, None)
    connection = Connection(kubeconfig=str(whole.kubeconfig), namespace=NAMESPACE)
    async with session(connection, load_config(connection)[0]) as opened:
        moving = asyncio.create_task(move(opened, await find(opened, "waiting"), nowhere, None))

        async def is_pinned() -> bool:
            return await pin_of(client, "waiting") == far

        await eventually(is_pinned)
        moving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await moving
    assert await pin_of(client, "waiting") is None
    await administrator.golden("rm", "waiting")


@pytest.mark.timeout(120)
async def test_what_is_not_its_crons_is_neither_moved_nor_waited_for(
    administrator: Administrator, client: Client, registry: DockerRegistry
) -> None:
    golden, reference = administrator.golden, f"{registry.host}/os/idle:latest"
    await administrator.push(1, reference)
    await golden("add", reference, "--name", "idle", "--private")
    await administrator.push(2, reference)
    await golden("check", "idle")
    cron = await client.get(DATA_IMPORT_CRONS, "idle", NAMESPACE)
    head = {"name": "late", "namespace": NAMESPACE}
    await client.create(DATA_IMPORT_CRONS, {**cron, "metadata": head, "status": {}})

    async def said(name: str, state: str) -> bool:
        return (await administrator.row(name))["state"] == state

    await eventually(lambda: said("cron/late", "conflict"))
    refusal = 'cron/late: spec.managedDataSource: DataSource "idle" belongs to DataImportCron "idle"'
    assert refusal in await golden("ls")
    assert refusal in await golden("history", "cron/late")
    assert refusal.removeprefix("cron/") in await golden("check", "cron/late", code=1)
    assert "is called cron/late here" in await golden("rm", "late", code=1)
    for words in ([], ["--keep-images"]):
        assert "ingot golden rm cron/late --keep-images" in await golden("rm", "idle", *words, code=1)
    assert "cron/late removed" in await golden("rm", "cron/late")

    label = {"metadata": {"labels": {IMPORT_CRON: None}}}
    await client.patch(DATA_SOURCES, "idle", label, NAMESPACE)
    await eventually(lambda: said("idle", "unmanaged"))
    for words in (["rollback", "idle"], ["pin", "idle"], ["check", "idle"]):
        refused = await golden(*words, code=1)
        assert refused.startswith('Error: idle: DataSource "idle" has lost the label')
        assert "tried again by itself" not in refused
    assert await pin_of(client, "idle") is None
    await golden("rm", "idle")


@pytest.mark.timeout(120)
async def test_an_image_that_is_followed_no_more_goes_back_also_where_an_ssp_has_its_name(
    administrator: Administrator, client: Client, registry: DockerRegistry
) -> None:
    golden, reference = administrator.golden, f"{registry.host}/os/fedora:latest"
    head = {"name": "ssp", "namespace": "default"}
    ssp = {"apiVersion": SSPS.api_version, "kind": SSPS.kind, "metadata": head, "spec": {"commonTemplates": {}}}
    await client.create(SSPS, ssp)

    async def is_deployed() -> bool:
        found = await client.get(SSPS, "ssp", "default")
        return (found.get("status") or {}).get("phase") == "Deployed"

    await eventually(is_deployed)
    await administrator.push(1, reference)
    await golden("add", reference, "--name", "fedora", "--private")
    await administrator.push(2, reference)
    await golden("check", "fedora")
    await golden("rm", "fedora", "--keep-images")
    assert "fedora stands for latest@" in await golden("rollback", "fedora")
    # The SSP has seen that by now.
    await golden("ls")
    assert await administrator.content("fedora") == sparse_bytes(SIZE, 1)
    await golden("rm", "fedora")
    await client.delete(SSPS, "ssp", "default")

    async def is_gone() -> bool:
        try:
            await client.get(SSPS, "ssp", "default")
        except ApiError as error:
            return error.reason == "NotFound"
        return False

    await eventually(is_gone)
