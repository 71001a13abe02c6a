"""Versions of golden images that somebody uses are removed by no command, on a whole machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, MACHINES, REPLICA_SETS
from ingot.cli.golden.options import NAMESPACE
from ingot.kube.client import Client
from ingot_up import IngotUp
from volumes.shelf import Shelf, ingot
from volumes.wares import MIB, sparse_bytes

SIZE = 4 * MIB


def reading(claim: str) -> Object:
    """A guest with the version itself in a drive, as `ingot vm run --cdrom golden:NAME` makes it there."""
    volumes = [{"name": "media", "persistentVolumeClaim": {"claimName": claim}}]
    disks = [{"name": "media", "cdrom": {"bus": "sata"}}]
    devices = {"autoattachPodInterface": False, "disks": disks}
    return {"spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": devices}, "volumes": volumes}}


async def publish(whole: IngotUp, directory: Path, number: int) -> bytes:
    file = directory / "held.raw"
    file.write_bytes(sparse_bytes(SIZE, 60 + number))
    said = ("--name", "held", "--keep", "2", "--version", str(number), "--private")
    await ingot(whole, "golden", "publish", str(file), *said)
    return file.read_bytes()


async def claim_of(client: Client, name: str) -> str:
    link = await client.get(DATA_SOURCES, name, NAMESPACE)
    return str(link["spec"]["source"]["pvc"]["name"])


@pytest.mark.timeout(120)
async def test_a_version_stays_while_another_image_or_a_stopped_machine_has_it(
    client: Client, whole: IngotUp, tmp_path: Path
) -> None:
    golden = Shelf(client, NAMESPACE, whole)
    content = await publish(whole, tmp_path, 1)
    first = await claim_of(client, "held")
    frozen = {"source": {"pvc": {"namespace": NAMESPACE, "name": first}}}
    await golden.create(DATA_SOURCES, "held-frozen", frozen)
    await golden.create(
        DATA_SOURCES, "held-alias", {"source": {"dataSource": {"namespace": NAMESPACE, "name": "held"}}}
    )
    await ingot(whole, "wait", "datasource/held-alias", "--for", "condition=Ready", "-n", NAMESPACE)
    assert (await ingot(whole, "golden", "rm", "held-alias")).endswith("held-alias removed\n")
    refused = await ingot(whole, "golden", "rm", "held", code=1)
    assert f'in {first}, by DataSource "{NAMESPACE}/held-frozen"' in refused
    assert (await ingot(whole, "golden", "rm", "held-frozen")).endswith("held-frozen removed\n")

    await golden.create(MACHINES, "reader", {"runStrategy": "Halted", "template": reading(first)})
    assert f'by VirtualMachine "{NAMESPACE}/reader"' in await ingot(whole, "golden", "rm", "held", code=1)
    assert await golden.content(await claim_of(client, "held"), SIZE) == content
    await client.delete(MACHINES, "reader", NAMESPACE)

    labels = {"app": "reader"}
    template = {"metadata": {"labels": labels}, **reading(first)}
    none = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    await golden.create(REPLICA_SETS, "readers", none)
    for number in (2, 3):
        await publish(whole, tmp_path, number)
    assert await golden.content(first, SIZE) == content, "it is one too many, and held by the set"
    assert f'by VirtualMachineInstanceReplicaSet "{NAMESPACE}/readers"' in await ingot(
        whole, "golden", "rm", "held", code=1
    )
    await client.delete(REPLICA_SETS, "readers", NAMESPACE)
    await publish(whole, tmp_path, 4)

    async def are_two() -> bool:
        found = (await client.list(DATA_VOLUMES, NAMESPACE))["items"]
        return len([each for each in found if name_of(each).startswith("held-")]) == 2

    await eventually(are_two)
    assert (await ingot(whole, "golden", "rm", "held")).endswith("held removed\n")
