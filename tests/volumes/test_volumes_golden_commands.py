"""`ingot golden` on a whole machine, as an administrator uses it: a registry, versions, and files of one's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import yaml

from eventual import eventually
from images.servers.registry import DockerRegistry
from ingot.api.object import name_of
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    ROLE_BINDINGS,
    SERVICE_ACCOUNTS,
    VOLUME_CLAIMS,
)
from ingot.cli.golden.options import NAMESPACE
from ingot.kube.client import Client
from ingot_up import IngotUp
from volumes.administrator import SIZE, Administrator
from volumes.shelf import Shelf, ingot, volume
from volumes.wares import sparse_bytes

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.timeout(180)
async def test_an_image_of_a_registry_is_followed_rolled_back_pinned_and_removed(
    administrator: Administrator, client: Client, shelf: Shelf, registry: DockerRegistry
) -> None:
    """G3: one command from zero to a golden image, and one for each thing that an administrator does with it."""
    golden, reference = administrator.golden, f"{registry.host}/os/tiny"
    await administrator.push(1, f"{reference}:v1.0.0")
    said = await golden("add", reference, "--name", "tiny", "--every", "12h")
    assert "everybody may clone from namespace golden-images" in said
    assert "tiny is ready: v1.0.0@" in said
    assert "boot it with `ingot vm run golden:tiny`" in said
    assert await administrator.content("tiny") == sparse_bytes(SIZE, 1)
    assert "tiny is ready: v1.0.0@" in await golden("add", reference, "--name", "tiny", "--every", "12h")
    other = await golden("add", reference, "--name", "tiny", "--keep", "7", code=1)
    assert "with another importsToKeep" in other
    await shelf.make(volume("mine", None, sourceRef={"kind": "DataSource", "name": "tiny", "namespace": NAMESPACE}))
    await shelf.filled("mine")

    await administrator.push(2, f"{reference}:v2.0.0")
    assert "a new version v2.0.0@" in await golden("check", "tiny")
    assert "is still the newest version" in await golden("check", "tiny")
    assert await administrator.content("tiny") == sparse_bytes(SIZE, 2)
    assert await administrator.states("tiny") == {"v2.0.0": "current", "v1.0.0": "kept"}

    async def is_told() -> bool:
        row = await administrator.row("tiny")
        return (row["ready"], row["state"], row["problem"]) == (True, "", "")

    await eventually(is_told)
    assert (await administrator.row("tiny"))["usedBy"] == [f"volume {shelf.namespace}/mine"]

    assert "tiny stands for v1.0.0@" in await golden("rollback", "tiny")
    assert await administrator.content("tiny") == sparse_bytes(SIZE, 1)
    assert await administrator.states("tiny") == {"v2.0.0": "kept", "v1.0.0": "pinned"}
    assert "pinned; the newest version is v2.0.0@" in await golden("check", "tiny")
    assert "stands for v2.0.0@" in await golden("unpin", "tiny")
    assert "stays at v2.0.0@" in await golden("pin", "tiny")
    await administrator.push(3, f"{reference}:v3.0.0")
    assert "v3.0.0@" in await golden("check", "tiny")
    assert await administrator.states("tiny") == {"v2.0.0": "pinned", "v1.0.0": "kept"}
    assert "stands for v3.0.0@" in await golden("unpin", "tiny")

    assert "is followed no more" in await golden("rm", "tiny", "--keep-images")
    assert await administrator.there(DATA_IMPORT_CRONS, "tiny") == []
    assert await administrator.content("tiny") == sparse_bytes(SIZE, 3)
    assert "tiny removed; 1 that were made from it keep their disks" in await golden("rm", "tiny")
    for resource in (DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS):
        assert await administrator.there(resource, "tiny") == []
    assert await shelf.content("mine", SIZE) == sparse_bytes(SIZE, 1)


async def test_who_may_not_is_told_and_everybody_may_clone(
    administrator: Administrator, client: Client, shelf: Shelf, whole: IngotUp, tmp_path: Path
) -> None:
    """G10: the namespace is open for clones, and for nothing else."""
    file = administrator.file("open.raw", 20)
    await administrator.golden("publish", str(file), "--name", "open")
    visitor = partial(ingot, whole, kubeconfig=await kubeconfig_of(client, shelf.namespace, whole, tmp_path))
    listed = await visitor("golden", "ls")
    assert "you may not list those of all" in listed
    assert "open.raw@" in listed
    refused = await visitor("golden", "publish", str(file), "--name", "mine", code=1)
    assert "cannot be opened to everybody" in refused or "forbidden" in refused
    assert "forbidden" in await visitor("golden", "rm", "open", code=1)
    run = ("vm", "run", "golden:open,copy=copy-on-write", "--name", "reader", "-n", shelf.namespace)
    assert "reader created" in await visitor(*run)
    (shared,) = (await client.list(DATA_VOLUMES, shelf.namespace))["items"]
    await shelf.filled(name_of(shared))
    assert await shelf.content(name_of(shared), SIZE) == file.read_bytes()
    await visitor("vm", "rm", "reader", "--force", "-n", shelf.namespace)
    await administrator.golden("rm", "open")


async def kubeconfig_of(client: Client, namespace: str, server: IngotUp, directory: Path) -> Path:
    """Of somebody who may edit in that namespace."""
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    head = {"name": "visitor", "namespace": namespace}
    await client.create(ROLE_BINDINGS, {"metadata": head, "roleRef": reference, "subjects": [subject]})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"namespace": namespace}}
    given = await client.create(SERVICE_ACCOUNTS, {**request, "spec": {}}, name="default", subresource="token")
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": given["status"]["token"]}
    made = directory / "kubeconfig"
    made.write_text(yaml.safe_dump(config))
    return made


@pytest.mark.timeout(120)
async def test_the_examples_give_a_golden_image_and_disks_of_it(
    administrator: Administrator, client: Client, shelf: Shelf, whole: IngotUp, registry: DockerRegistry, tmp_path: Path
) -> None:
    """G11: with a registry of ours in place of the one that they name."""
    for image in ("fedora:latest", "debian:12"):
        await administrator.push(30, f"{registry.host}/os/{image}")
    clone = EXAMPLES / "golden" / "clone.yaml"
    files = [EXAMPLES / "golden-image.yaml", EXAMPLES / "vms" / "golden.yaml", EXAMPLES / "datasource.yaml", clone]
    for file in files:
        text = file.read_text().replace("quay.io/containerdisks", f"{registry.host}/os")
        # Guests are another test's.
        text = text.replace("runStrategy: Always", "runStrategy: Halted")
        (tmp_path / file.name).write_text(text.replace("namespace: default", f"namespace: {shelf.namespace}"))
    await ingot(whole, "apply", "-f", str(tmp_path / "golden-image.yaml"))
    # The machine waits for the image; a volume of its own is made once that is there.
    for file in files[1:]:
        if file == clone:
            await ingot(whole, "wait", "dataimportcron/fedora", "--for", "condition=UpToDate", "-n", NAMESPACE)
        await ingot(whole, "apply", "-f", str(tmp_path / file.name), "-n", shelf.namespace)
    await ingot(whole, "wait", "datasource/appliance", "--for", "condition=Ready", "-n", shelf.namespace)
    for name in ("my-fedora", "web-root", "appliance-1"):
        await eventually(lambda name=name: client.get(DATA_VOLUMES, name, shelf.namespace))
        await shelf.filled(name)
        assert await shelf.content(name, SIZE) == sparse_bytes(SIZE, 30)
    await ingot(whole, "delete", "dataimportcron", "fedora", "-n", NAMESPACE)
    await ingot(whole, "delete", "-f", str(tmp_path / "golden.yaml"))
    assert "fedora removed" in await administrator.golden("rm", "fedora")


async def test_a_source_that_fails_is_told_with_what_comes_next(
    administrator: Administrator, registry: DockerRegistry
) -> None:
    said = await administrator.golden("add", f"{registry.host}/os/none:v1", "--name", "none", code=1)
    assert f"{registry.host}/os/none" in said
    assert "It is tried again by itself" in said

    async def is_told() -> bool:
        return (await administrator.row("none"))["state"] == "unreachable"

    await eventually(is_told)
    assert "none removed" in await administrator.golden("rm", "none")


@pytest.mark.timeout(180)
async def test_a_file_is_published_again_and_again(administrator: Administrator, registry: DockerRegistry) -> None:
    """N5: an administrator publishes an ISO to all namespaces in one command; a later one moves the name."""
    golden, publish = administrator.golden, ("--name", "media", "--keep", "2", "--version")
    for number in (1, 2):
        file = administrator.file("media.iso", 10 + number)
        assert f"media is ready: {number}@" in await golden("publish", str(file), *publish, str(number))
        assert await administrator.content("media") == file.read_bytes()
    assert await administrator.states("media") == {"2": "current", "1": "kept"}
    again = administrator.file("media.iso", 11)
    assert "media is ready: 1@" in await golden("publish", str(again), *publish, "1")
    assert "media stands for 2@" in await golden("rollback", "media")
    assert "no version that served before 2@" in await golden("rollback", "media", code=1)
    assert "there is nobody to ask" in await golden("check", "media", code=1)
    assert "nothing follows media" in await golden("pin", "media", code=1)
    file = administrator.file("media.iso", 13)
    assert "of before removed" in await golden("publish", str(file), *publish, "3")
    assert await administrator.states("media") == {"3": "current", "2": "kept"}
    assert "Did you mean media?" in await golden("history", "medium", code=1)

    await administrator.push(14, f"{registry.host}/os/media:4")
    await golden("add", f"{registry.host}/os/media:4", "--name", "media")
    assert await administrator.states("media") == {"4": "current", "3": "out of reach", "2": "out of reach"}
    assert "golden rm media --keep-images" in await golden("rollback", "media", code=1)
    await golden("rm", "media", "--keep-images")
    assert "media stands for 3@" in await golden("rollback", "media")
    grown = await golden("add", f"{registry.host}/os/media:4", "--name", "media", "--size", "8Mi")
    assert "imported without --size 8Mi, and stays as large as it is" in grown
    assert "media removed" in await golden("rm", "media")

    async def gone() -> bool:
        return not await administrator.there(VOLUME_CLAIMS, "media")

    await eventually(gone)
