"""Whoever edits a namespace does not thereby hold the machine: what reaches into it needs a right of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Patch
from ingot_up import IngotUp
from wire import kinds
from wire.kinds import PODS, ROLES
from wire.people import People, people_of

MACHINES = Resource("kubevirt.io", "v1", "virtualmachines", "VirtualMachine")
INSTANCES = Resource("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance")
REPLICAS = Resource("kubevirt.io", "v1", "virtualmachineinstancereplicasets", "VirtualMachineInstanceReplicaSet")
CLASSICS = Resource("kubevirt.io", "v1", "classicvms", "VM")
FILE: Object = {"hostDisk": {"path": "/etc/shadow", "type": "Disk"}}
EMPTY: Object = {"emptyDisk": {"capacity": "1Gi"}}


@pytest.fixture
async def people(ingot_server: IngotUp) -> AsyncIterator[People]:
    async with people_of(ingot_server) as both:
        yield both


def guest(volume: Object, **disk: Any) -> Object:
    disks = [{"name": "root", "disk": disk}]
    return {"domain": {"devices": {"disks": disks}}, "volumes": [{"name": "root", **volume}]}


def machine(kind: Resource, volume: Object, **disk: Any) -> Object:
    spec = guest(volume, **disk)
    template: Object = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}
    if kind is MACHINES:
        spec = {"runStrategy": "Halted", **template}
    elif kind is REPLICAS:
        spec = {"selector": {"matchLabels": {"a": "b"}}, **template}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}


def pod(volumes: list[Object] | None = None, image: str = "registry.test/app:1", **container: Any) -> Object:
    return kinds.pod("it", containers=[{"name": "main", "image": image, **container}], volumes=volumes or [])


@pytest.mark.parametrize("kind", [MACHINES, INSTANCES, REPLICAS, CLASSICS], ids=lambda kind: kind.plural)
async def test_a_file_of_the_node_needs_a_right(people: People, kind: Resource) -> None:
    path = "spec.template.spec" if kind in (MACHINES, REPLICAS) else "spec"
    assert await people.refused(kind, machine(kind, FILE)) == (
        f'{kind.plural}.kubevirt.io "it" is forbidden: {path}.volumes[0].hostDisk (/etc/shadow) reaches into the node: '
        f'User "system:serviceaccount:{people.namespace}:tenant" needs the verb "use" on resource "hostdisks" in API '
        f'group "ingot.io" in the namespace "{people.namespace}", which an administrator of the cluster can grant by a '
        "Role; a persistentVolumeClaim needs no such right"
    )
    await people.create(kind, machine(kind, EMPTY))
    await people.tenant.delete(kind, "it", people.namespace)
    await people.grant("kubevirt.io:hostdisks")
    await people.create(kind, machine(kind, FILE))


async def test_the_right_is_needed_in_every_version(people: People) -> None:
    for version in ("v1", "v1alpha3", "v1alpha1"):
        kind = replace(MACHINES, version=version)
        assert "hostdisks" in await people.refused(kind, {**machine(MACHINES, FILE), "apiVersion": kind.api_version})


async def test_no_way_of_changing_a_machine_goes_round_it(people: People) -> None:
    # Made by apply, so that an apply of the same manager takes the other source away.
    asked = people.placed(machine(MACHINES, EMPTY))
    made = await people.tenant.apply(MACHINES, asked, "tenant")
    changed = machine(MACHINES, FILE)
    with pytest.raises(ApiError, match="hostdisks"):
        await people.patch(MACHINES, {"spec": changed["spec"]})
    with pytest.raises(ApiError, match="hostdisks"):
        await people.tenant.replace(MACHINES, {**made, "spec": changed["spec"]})
    with pytest.raises(ApiError, match="hostdisks"):
        await people.tenant.apply(MACHINES, people.placed(changed), "tenant")
    with pytest.raises(ApiError, match="hostdisks"):
        await people.tenant.apply(MACHINES, people.placed(changed), "tenant", dry_run=True)


async def test_what_an_administrator_gave_stays_as_it_was_given(people: People) -> None:
    await people.admin.create(MACHINES, people.placed(machine(MACHINES, FILE, readonly=True)))
    assert (await people.patch(MACHINES, {"spec": {"runStrategy": "Manual"}}))["spec"]["runStrategy"] == "Manual"
    with pytest.raises(ApiError, match="hostdisks"):
        await people.patch(MACHINES, {"spec": {"template": {"spec": guest(FILE)}}})


async def test_an_administrator_of_a_namespace_cannot_grant_it(people: People) -> None:
    await people.grant("admin")
    rule = {"apiGroups": ["ingot.io"], "resources": ["hostdisks"], "verbs": ["use"]}
    with pytest.raises(ApiError, match="not currently held"):
        await people.create(ROLES, {"rules": [rule]})
    assert "hostdisks" in await people.refused(MACHINES, machine(MACHINES, FILE))


CLOSE = [
    (pod(image="ingot"), "spec.containers[0].image"),
    (pod(image="ingot:1@sha256:" + "0" * 64), "spec.containers[0].image"),
    (pod([{"name": "root", "hostPath": {"path": "/"}}]), "spec.volumes[0].hostPath (/)"),
    (pod(securityContext={"privileged": True}), "spec.containers[0].securityContext.privileged"),
    (pod(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}), "capabilities.add (SYS_ADMIN)"),
]


@pytest.mark.parametrize(("close", "field"), CLOSE, ids=[field for _, field in CLOSE])
async def test_a_process_of_the_machine_needs_a_right(people: People, close: Object, field: str) -> None:
    told = await people.refused(PODS, close)
    assert field in told
    assert 'needs the verb "use" on resource "hostprocesses"' in told
    await people.grant("kubevirt.io:hostprocesses")
    await people.create(PODS, close)


async def test_a_pod_does_not_become_one_later(people: People) -> None:
    await people.create(PODS, pod(securityContext={"capabilities": {"add": ["NET_BIND_SERVICE"]}}))
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "ingot"}]
    with pytest.raises(ApiError, match="hostprocesses"):
        await people.tenant.patch(PODS, "it", image, people.namespace, kind=Patch.JSON)


async def test_a_pod_that_is_one_can_be_changed_in_other_ways(people: People) -> None:
    await people.admin.create(PODS, people.placed(pod(image="ingot")))
    assert (await people.patch(PODS, {"metadata": {"labels": {"a": "b"}}}))["metadata"]["labels"] == {"a": "b"}
