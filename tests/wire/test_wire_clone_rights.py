"""Nobody copies a disk out of a namespace that they have no right to: clones are asked for at their source (G10)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, MACHINE_SNAPSHOT_CONTENTS, MACHINES
from ingot.api.status import ApiError
from ingot.kube.client import Patch
from ingot_up import IngotUp
from wire.kinds import NAMESPACES, ROLES
from wire.people import People, people_of

RIGHT = 'needs the verb "create" on resource "datavolumes/source" in API group "cdi.kubevirt.io" in the namespace '
SIZED: Object = {"resources": {"requests": {"storage": "1Gi"}}}


@dataclass
class Clones:
    """The people, and a namespace with golden images that the tenant has no right to."""

    people: People
    golden: str

    def source(self, kind: str = "pvc", name: str = "fedora") -> Object:
        return {kind: {"namespace": self.golden, "name": name}}

    def link(self, name: str = "link") -> Object:
        return {"kind": "DataSource", "namespace": self.golden, "name": name}

    async def open(self) -> None:
        """Opens the golden images to the tenant, as administrators do."""
        await self.people.grant("view", self.golden)


@pytest.fixture
async def clones(ingot_server: IngotUp) -> AsyncIterator[Clones]:
    async with people_of(ingot_server) as people:
        golden = f"golden-{people.namespace}"
        await people.admin.create(NAMESPACES, {"metadata": {"name": golden}})
        metadata = {"name": "link", "namespace": golden}
        source = {"pvc": {"namespace": golden, "name": "fedora"}}
        await people.admin.create(DATA_SOURCES, {**link(source), "metadata": metadata})
        yield Clones(people, golden)


def made(kind: Resource, **spec: object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}


def volume(**spec: object) -> Object:
    return made(DATA_VOLUMES, **{"storage": {}, **spec})


def link(source: Object) -> Object:
    return made(DATA_SOURCES, source=source)


def machine(**spec: object) -> Object:
    template = {"metadata": {"name": "root"}, "spec": {"storage": {}, **spec}}
    disks = {"domain": {"devices": {"disks": [{"name": "root", "disk": {}}]}}}
    guest = {**disks, "volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}
    return made(MACHINES, runStrategy="Halted", template={"spec": guest}, dataVolumeTemplates=[template])


@pytest.mark.parametrize(("kind", "plural"), [("pvc", "persistentvolumeclaims"), ("snapshot", "volumesnapshots")])
async def test_a_clone_from_another_namespace_needs_the_right_there(clones: Clones, kind: str, plural: str) -> None:
    people = clones.people
    assert await people.refused(DATA_VOLUMES, volume(source=clones.source(kind))) == (
        f'datavolumes.cdi.kubevirt.io "it" is forbidden: spec.source.{kind} clones {plural} "fedora" of another '
        f'namespace: User "system:serviceaccount:{people.namespace}:tenant" {RIGHT}"{clones.golden}", which an '
        "administrator of the cluster can grant by a Role; a source in the same namespace needs no such right"
    )
    await clones.open()
    await people.create(DATA_VOLUMES, volume(source=clones.source(kind)))


async def test_a_clone_within_the_namespace_needs_none(clones: Clones) -> None:
    people = clones.people
    await people.create(DATA_VOLUMES, volume(source={"pvc": {"namespace": people.namespace, "name": "a"}}))


async def test_the_right_may_be_for_one_claim_only(clones: Clones) -> None:
    people = clones.people
    rule = {"apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes/source"], "verbs": ["create"]}
    role = {"metadata": {"name": "one", "namespace": clones.golden}, "rules": [{**rule, "resourceNames": ["fedora"]}]}
    await people.admin.create(ROLES, role)
    await people.grant("one", clones.golden, "Role")
    assert RIGHT in await people.refused(DATA_VOLUMES, volume(source=clones.source(name="secret")))
    await people.create(DATA_VOLUMES, volume(source=clones.source()))


async def test_a_reference_is_followed_to_its_source(clones: Clones) -> None:
    people = clones.people
    told = await people.refused(DATA_VOLUMES, volume(sourceRef=clones.link()))
    assert 'spec.sourceRef clones datasources "link"' in told
    assert f'{RIGHT}"{clones.golden}"' in told
    told = await people.refused(DATA_VOLUMES, volume(sourceRef=clones.link("later")))
    assert 'spec.sourceRef clones datasources "later"' in told
    await clones.open()
    await people.create(DATA_VOLUMES, volume(sourceRef=clones.link()))


async def test_a_link_of_ones_own_does_not_go_round_it(clones: Clones) -> None:
    people = clones.people
    for kind, name in (("pvc", "fedora"), ("snapshot", "fedora"), ("dataSource", "link")):
        source = clones.source(kind, name)
        assert f'{RIGHT}"{clones.golden}"' in await people.refused(DATA_SOURCES, link(source))
    own = {"pvc": {"namespace": people.namespace, "name": "a"}}
    await people.create(DATA_SOURCES, link(own))
    with pytest.raises(ApiError, match="datavolumes/source"):
        await people.patch(DATA_SOURCES, {"spec": {"source": {"pvc": clones.source()["pvc"]}}})
    # One that an administrator has made is followed, whoever names it.
    moved = {"spec": {"source": clones.source()}}
    await people.admin.patch(DATA_SOURCES, "it", moved, people.namespace, kind=Patch.MERGE)
    told = await people.refused(DATA_VOLUMES, volume(sourceRef={"kind": "DataSource", "name": "it"}))
    assert f'{RIGHT}"{clones.golden}"' in told
    assert (await people.patch(DATA_SOURCES, {"metadata": {"labels": {"a": "b"}}}))["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("referring", [False, True], ids=["source", "sourceRef"])
async def test_the_templates_of_a_machine_need_it_too(clones: Clones, referring: bool) -> None:
    people = clones.people
    spec = {"sourceRef": clones.link()} if referring else {"source": clones.source()}
    told = await people.refused(MACHINES, machine(**spec))
    assert 'virtualmachines.kubevirt.io "it" is forbidden: spec.dataVolumeTemplates[0].spec.source' in told
    assert f'{RIGHT}"{clones.golden}"' in told
    made = await people.create(MACHINES, machine(source={"blank": {}}, storage=SIZED))
    changed = machine(**spec)["spec"]["dataVolumeTemplates"]
    with pytest.raises(ApiError, match="datavolumes/source"):
        await people.patch(MACHINES, {"spec": {"dataVolumeTemplates": changed}})
    with pytest.raises(ApiError, match="datavolumes/source"):
        await people.tenant.replace(MACHINES, {**made, "spec": {**made["spec"], "dataVolumeTemplates": changed}})
    await clones.open()
    await people.patch(MACHINES, {"spec": {"dataVolumeTemplates": changed}})


async def test_what_was_allowed_once_stays(clones: Clones) -> None:
    people = clones.people
    await people.admin.create(MACHINES, people.placed(machine(source=clones.source())))
    assert (await people.patch(MACHINES, {"spec": {"runStrategy": "Manual"}}))["spec"]["runStrategy"] == "Manual"
    await people.admin.create(DATA_VOLUMES, people.placed(volume(source=clones.source())))
    assert (await people.patch(DATA_VOLUMES, {"metadata": {"labels": {"a": "b"}}}))["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "VolumeSnapshot"])
async def test_a_status_does_not_go_round_it_either(clones: Clones, kind: str) -> None:
    """What it says is cloned: an owner of a namespace may have all rights in it, also to write the status."""
    people = clones.people
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    role = {"metadata": {"name": "owner", "namespace": people.namespace}, "rules": [rule]}
    await people.admin.create(ROLES, role)
    await people.grant("owner", kind="Role")
    own = {"pvc": {"namespace": people.namespace, "name": "late"}}
    made = await people.create(DATA_VOLUMES, volume(source=own))
    told = {"status": {"origin": {"kind": kind, "namespace": clones.golden, "name": "fedora"}}}
    with pytest.raises(ApiError, match=r'status\.origin clones .* "fedora" of another namespace.*datavolumes/source'):
        await people.tenant.patch(DATA_VOLUMES, "it", told, people.namespace, subresource="status")
    with pytest.raises(ApiError, match="datavolumes/source"):
        await people.tenant.replace(DATA_VOLUMES, {**made, **told}, subresource="status")
    # By any other way a status is not written at all.
    assert "status" not in await people.patch(DATA_VOLUMES, told)
    phase = {"status": {"phase": "Pending"}}
    await people.tenant.patch(DATA_VOLUMES, "it", phase, people.namespace, subresource="status")
    await people.admin.patch(DATA_VOLUMES, "it", told, people.namespace, subresource="status")
    done = {"status": {"phase": "Succeeded"}}
    kept = await people.tenant.patch(DATA_VOLUMES, "it", done, people.namespace, subresource="status")
    assert kept["status"] == {**told["status"], **done["status"]}


async def test_what_a_snapshot_holds_is_not_for_tenants_to_write(clones: Clones) -> None:
    kept = made(MACHINE_SNAPSHOT_CONTENTS, source={"virtualMachine": {"spec": machine(source={"blank": {}})["spec"]}})
    told = await clones.people.refused(MACHINE_SNAPSHOT_CONTENTS, kept)
    assert 'cannot create resource "virtualmachinesnapshotcontents"' in told
