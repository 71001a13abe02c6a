"""Ingot's kinds on a real cluster, through webhooks: it accepts, refuses and shows what one machine does."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.kube.access import allowed
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from kube.pair import Pair, difference, resource
from kube.webhooks import Webhooks, manifests
from wire.kinds import NAMESPACES, ROLE_BINDINGS, ROLES
from wire.normal import lines
from wire.shell import Kubectl, Output

EXAMPLES = Path(__file__).parents[2] / "examples"
V1, ALPHA, CDI = "kubevirt.io/v1", "kubevirt.io/v1alpha1", "cdi.kubevirt.io/v1beta1"
SNAPSHOT = "snapshot.kubevirt.io/v1beta1"
MACHINE = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "it"}
EMPTY: Object = {"emptyDisk": {"capacity": "1Gi"}}
BLANK: Object = {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}


def made(kind: str, api_version: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, "spec": spec}


def instance(volume: Object, disk: str = "root") -> Object:
    devices = {"disks": [{"name": disk}], "autoattachPodInterface": False}
    return {"domain": {"devices": devices}, "volumes": [{"name": "root", **volume}]}


def network(uri: str) -> Object:
    return instance({"networkVolume": {"uri": uri, "format": "raw"}})


def machine(**spec: object) -> Object:
    return {"runStrategy": "Halted", "template": {"spec": instance(EMPTY)}, **spec}


def cron(schedule: str) -> Object:
    template = {"spec": {"source": {"registry": {"url": "docker://here/it"}}, "storage": {}}}
    return {"schedule": schedule, "template": template, "managedDataSource": "it"}


def restore(**spec: object) -> Object:
    return {"target": MACHINE, "virtualMachineSnapshotName": "it", **spec}


def old_disk(**source: object) -> Object:
    return {"domain": {"devices": {"disks": [{"source": source, "target": {"device": "sda"}}]}}}


VOLUME = made("DataVolume", CDI, BLANK)
CRON = made("DataImportCron", CDI, cron("0 0 * * *"))
REFUSED = [
    (made("VirtualMachineInstance", V1, network("gopher://nowhere/it")), "spec.volumes[0].networkVolume.uri"),
    (made("VirtualMachineInstance", ALPHA, network("nbd://")), "spec.volumes[0].networkVolume.uri"),
    (made("VirtualMachineInstance", V1, instance(EMPTY, "other")), "spec.domain.devices.disks[0].name"),
    (made("VirtualMachineInstance", V1, instance({"networkVolume": {}})), "spec.volumes[0].networkVolume.uri"),
    (
        made("VirtualMachine", V1, machine(dataVolumeTemplates=[{"metadata": {}, "spec": BLANK}])),
        "spec.dataVolumeTemplates[0].metadata.name",
    ),
    (made("VM", ALPHA, old_disk(pvc={"claimname": "c"}, nbd={"host": {"name": "h"}})), "spec.domain.devices.disks[0]"),
    (made("DataVolume", CDI, {**BLANK, "source": {"blank": {}, "upload": {}}}), "spec.source"),
    (made("DataVolume", CDI, {"storage": BLANK["storage"]}), "spec.source"),
    (made("DataVolume", CDI, {"source": {"blank": {}}}), "spec.pvc"),
    (made("DataVolume", CDI, {**BLANK, "contentType": "archive"}), "spec.contentType"),
    (made("DataVolume", CDI, {**BLANK, "storage": {}}), "spec.storage.resources.requests.storage"),
    (made("VolumeImportSource", CDI, {"source": {"http": {"url": "ftp://a"}}}), "spec.source.http.url"),
    (made("VolumeImportSource", CDI, {"source": {}}), "spec.source"),
    (made("VolumeUploadSource", CDI, {"contentType": "iso"}), "spec.contentType"),
    (made("VolumeCloneSource", CDI, {"source": {"kind": "VolumeSnapshot", "name": "a"}}), "spec.source"),
    (made("VirtualMachineSnapshot", SNAPSHOT, {"source": {**MACHINE, "kind": "VM"}}), "spec.source.kind"),
    (made("VirtualMachineRestore", SNAPSHOT, restore(patches=["{}"])), "spec.patches[0]"),
    (
        made("VirtualMachineRestore", SNAPSHOT, restore(volumeRestoreOverrides=[{"volumeName": "a"}])),
        "spec.volumeRestoreOverrides[0]",
    ),
    (made("DataVolume", CDI, {**BLANK, "preallocation": "yes"}), "spec.preallocation"),
    (made("DataImportCron", CDI, cron("every now and then")), "spec.schedule"),
    ({key: value for key, value in VOLUME.items() if key != "spec"}, "spec"),
]


@pytest.mark.parametrize(("asked", "field"), REFUSED)
async def test_a_refusal_names_the_same_fields(both: Pair, asked: Object, field: str) -> None:
    told = await both.create(asked)
    assert (told["kind"], told["reason"], told["code"]) == ("Status", "Invalid", 422)
    assert field in [cause["field"] for cause in told["details"]["causes"]]


FILLED = [
    made("VolumeImportSource", CDI, {"source": {"http": {"url": "https://a/b"}}}),
    made("VolumeUploadSource", CDI, {"contentType": "archive"}),
    # As Go's clients write it.
    made("VolumeCloneSource", CDI, {"source": {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "a"}}),
    made("VirtualMachineSnapshot", SNAPSHOT, {"source": MACHINE, "failureDeadline": "1m"}),
    made("VirtualMachineRestore", SNAPSHOT, restore(patches=['{"op": "remove", "path": "/spec/a"}'])),
    made("VirtualMachineSnapshotContent", SNAPSHOT, {"source": {"virtualMachine": {"spec": {"any": [1, {"a": 2}]}}}}),
]


@pytest.mark.parametrize("asked", FILLED, ids=lambda asked: str(asked["kind"]))
async def test_what_fills_and_keeps_volumes_is_stored_alike(both: Pair, asked: Object) -> None:
    assert (await both.stored(asked))["spec"]
    if asked["kind"] != "VirtualMachineSnapshotContent":
        # Each of these is a field of some of them, and pruned from the others.
        change = {"preallocation": True, "deletionPolicy": "Retain", "target": {"name": "b"}}
        told = await both.patch(resource(asked), "it", {"spec": change})
        assert told["reason"] == "Invalid", told


async def test_what_stands_is_not_changed(both: Pair) -> None:
    await both.stored(VOLUME)
    told = await both.patch(resource(VOLUME), "it", {"spec": {"source": {"blank": None, "upload": {}}}})
    assert told["reason"] == "Invalid"
    for _ in range(2):
        told = await both.patch(resource(VOLUME), "it", {"metadata": {"labels": {"a": "b"}}})
    assert (told["metadata"]["labels"], told["metadata"]["generation"]) == ({"a": "b"}, 1)


async def test_a_status_is_rewritten_and_judged(both: Pair) -> None:
    await both.stored(CRON)
    for claim in ({"namespace": "there", "name": "one"}, "one"):
        told = await both.patch(resource(CRON), "it", {"status": {"lastImportedPVC": claim}}, "status")
        assert told["status"]["lastImportedPVC"]["name"] == "one"
    told = await both.patch(resource(CRON), "it", {"status": {"lastImportedPVC": 3}}, "status")
    assert told["details"]["causes"][0]["field"] == "status.lastImportedPVC"


async def test_old_versions_go_in_and_come_out(both: Pair) -> None:
    asked = made("VirtualMachine", ALPHA, old_disk(pvc={"claimname": "c"}))
    stored = await both.stored(asked)
    assert stored["apiVersion"] == V1
    template = stored["spec"]["template"]
    assert template["spec"]["volumes"] == [{"name": "sda", "persistentVolumeClaim": {"claimName": "c"}}]
    for version in ("v1", "v1alpha1", "v1alpha3"):
        where = resource(asked, version)
        template["metadata"] = {"labels": {"through": version}}
        await both.patch(where, "it", {"spec": {"template": {"metadata": template["metadata"]}}})
        read = await both.get(where, "it")
        assert (read["apiVersion"], read["spec"]) == (where.api_version, stored["spec"])
    assert read["metadata"]["generation"] == 4


async def test_nothing_is_stored_while_nobody_judges(both: Pair, webhooks: Webhooks) -> None:
    webhooks.__exit__(None, None, None)
    try:
        with pytest.raises(ApiError, match=r'failed calling webhook "mutate\.ingot\.local"'):
            await both.theirs.create(resource(VOLUME), both.placed(VOLUME))
    finally:
        webhooks.__enter__()
    await both.create(VOLUME)


@pytest.fixture
async def jane(both: Pair) -> AsyncIterator[Pair]:
    """Somebody who may write machines in the namespace of the pair, and no more."""
    await granted(both, "writer", {"apiGroups": ["kubevirt.io"], "resources": ["*"], "verbs": ["*"]})
    acting = [
        replace(each.transport.config, headers=(("Impersonate-User", "jane"),)) for each in (both.ours, both.theirs)
    ]
    async with Client.connect(acting[0]) as ours, Client.connect(acting[1]) as theirs:
        yield Pair(ours, theirs, both.namespace)


async def granted(both: Pair, name: str, rule: Object, namespace: str = "") -> None:
    """Grants jane a right in the namespace of the pair, unless told. It is in effect on return."""
    metadata = {"name": name, "namespace": namespace or both.namespace}
    reference = {"apiGroup": ROLES.group, "kind": "Role", "name": name}
    subject = {"apiGroup": ROLES.group, "kind": "User", "name": "jane"}
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {"group": rule["apiGroups"][0], "resource": resource, "verb": rule["verbs"][0]}
    for client in (both.ours, both.theirs):
        await client.create(ROLES, {"metadata": metadata, "rules": [rule]})
        await client.create(ROLE_BINDINGS, {"metadata": metadata, "roleRef": reference, "subjects": [subject]})
        asked = {**attributes, "namespace": metadata["namespace"], "subresource": subresource}
        await eventually(partial(allowed, client, {"username": "jane"}, asked))


async def test_a_file_of_the_node_needs_a_right(both: Pair, jane: Pair) -> None:
    file: Object = {"hostDisk": {"path": "/etc/shadow", "type": "Disk"}}
    asked = made("VirtualMachineInstance", V1, instance(file))
    told = await jane.create(asked)
    assert (told["reason"], told["code"]) == ("Forbidden", 403)
    assert 'spec.volumes[0].hostDisk (/etc/shadow) reaches into the node: User "jane" needs the verb' in told["message"]
    template = made("VirtualMachine", V1, machine())
    await jane.stored(template)
    told = await jane.patch(resource(template), "it", {"spec": {"template": {"spec": instance(file)}}})
    assert "spec.template.spec.volumes[0].hostDisk" in told["message"]
    await granted(both, "host", {"apiGroups": ["ingot.io"], "resources": ["hostdisks"], "verbs": ["use"]})
    assert (await jane.create(asked))["kind"] == "VirtualMachineInstance"
    assert (await both.create({**asked, "metadata": {"name": "other"}}))["kind"] == "VirtualMachineInstance"


async def test_a_clone_from_another_namespace_needs_a_right(both: Pair, jane: Pair) -> None:
    """G10: asked of who writes a volume, a machine with templates or a link, at what the link leads to."""
    golden = f"{both.namespace}-golden"
    source = {"pvc": {"namespace": golden, "name": "fedora"}}
    link = {**made("DataSource", CDI, {"source": source}), "metadata": {"name": "link", "namespace": golden}}
    for client in (both.ours, both.theirs):
        await client.create(NAMESPACES, {"metadata": {"name": golden}})
        await client.create(DATA_SOURCES, link)
    await granted(both, "volumes", {"apiGroups": ["cdi.kubevirt.io"], "resources": ["*"], "verbs": ["*"]})
    reference = {"kind": "DataSource", "namespace": golden, "name": "link"}
    volumes: list[Object] = [{"source": source, "storage": {}}, {"sourceRef": reference, "storage": {}}]
    templates = [{"metadata": {"name": "root"}, "spec": spec} for spec in volumes]
    guest = instance({"dataVolume": {"name": "root"}})
    asked = [
        *(made("DataVolume", CDI, spec) for spec in volumes),
        *(
            made("VirtualMachine", V1, machine(template={"spec": guest}, dataVolumeTemplates=[template]))
            for template in templates
        ),
        made("DataSource", CDI, {"source": source}),
    ]
    named = r'clones (persistentvolumeclaims "fedora"|datasources "link") of another namespace: User "jane" needs'
    for obj in asked:
        told = await jane.create(obj)
        assert (told["reason"], told["code"]) == ("Forbidden", 403), obj
        assert re.search(named, told["message"])
    own = {"pvc": {"namespace": both.namespace, "name": "late"}}
    await jane.stored(made("DataVolume", CDI, {"source": own, "storage": {}}))
    origin = {"status": {"origin": {"kind": "PersistentVolumeClaim", **source["pvc"]}}}
    told = await jane.patch(DATA_VOLUMES, "it", origin, subresource="status")
    assert (told["reason"], told["code"]) == ("Forbidden", 403)
    assert 'status.origin clones persistentvolumeclaims "fedora" of another namespace' in told["message"]
    right = {"apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes/source"], "verbs": ["create"]}
    await granted(both, "clone", right, golden)
    for number, obj in enumerate(asked):
        stored = await jane.create({**obj, "metadata": {"name": f"it-{number}"}})
        assert stored["kind"] == obj["kind"]


@pytest.fixture
def shells(
    both: Pair, kubectl: Path, ingot_server: IngotUp, kube_apiserver: ControlPlane, tmp_path: Path
) -> list[Kubectl]:
    """kubectl for both servers."""
    return [Kubectl(kubectl, server.kubeconfig, both.namespace, tmp_path) for server in (ingot_server, kube_apiserver)]


async def alike(shells: list[Kubectl], *command: str) -> Output:
    """What kubectl prints; without ages, it must be the same on both servers."""
    ours, theirs = [await shell(*command) for shell in shells]
    assert (ours.code, theirs.code) == (0, 0), ours.err + theirs.err
    assert lines(ours.out) == lines(theirs.out), difference(ours.out, theirs.out)
    assert lines(ours.err) == lines(theirs.err), difference(ours.err, theirs.err)
    return theirs


async def test_all_examples_apply_and_are_equal(both: Pair, shells: list[Kubectl]) -> None:
    # As they stand: each in its own namespace, or in the one that everybody has.
    shells = [replace(shell, namespace="") for shell in shells]
    files = [f"--filename={file}" for file in sorted(EXAMPLES.glob("*.yaml"))]
    asked = [obj for obj in manifests(EXAMPLES.glob("*.yaml")) if obj["kind"] != "Namespace"]
    first = await alike(shells, "apply", "--validate=strict", *files)
    # Others may have made the namespace before.
    assert sum(line.endswith(" created") for line in first.out.splitlines() if "namespace/" not in line) == len(asked)
    for obj in asked:
        assert (await both.get(resource(obj), name_of(obj), namespace_of(obj) or "default"))["kind"] == obj["kind"]
    again = await alike(shells, "apply", "--validate=strict", *files)
    assert len(again.out.splitlines()) == len(asked) + 1
    for obj in asked:
        now = await both.get(resource(obj), name_of(obj), namespace_of(obj) or "default")
        assert now["metadata"]["generation"] == 1
    for shell in shells:
        await shell("delete", "--wait=false", "--ignore-not-found", *files)


STATUS = {
    "vm": {"printableStatus": "Running", "ready": True, "conditions": [{"type": "Ready", "status": "True"}]},
    "vmi": {
        "phase": "Running",
        "nodeName": "node-1",
        "interfaces": [{"name": "default", "ipAddress": "10.0.2.2"}],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "LiveMigratable", "status": "False"}],
    },
    "dv": {"phase": "ImportInProgress", "progress": "42.00%", "restartCount": 2},
    "dic": {"sourceFormat": "pvc"},
}


async def test_columns(both: Pair, shells: list[Kubectl]) -> None:
    source = {"source": {"pvc": {"name": "c", "namespace": "n"}}}
    running, guest = made("VirtualMachine", V1, machine()), made("VirtualMachineInstance", V1, instance(EMPTY))
    for obj in (running, guest, VOLUME, CRON, made("DataSource", CDI, source)):
        await both.stored(obj)
    kinds = "vm,vmi,dv,dic,das"
    bare = await alike(shells, "get", kinds)
    assert bare.out.count("/it ") == 5
    for kind, status in STATUS.items():
        patch = json.dumps({"status": status})
        await alike(shells, "patch", kind, "it", "--subresource=status", "--type=merge", f"--patch={patch}")
    told = await alike(shells, "get", kinds)
    rows = [" ".join(line.split()) for line in lines(told.out)]
    assert "NAME AGE STATUS READY" in rows
    assert "NAME PHASE PROGRESS RESTARTS AGE DONE LEFT" in rows
    assert "datavolume.cdi.kubevirt.io/it ImportInProgress 42.00% 2 <age>" in rows
    await alike(shells, "get", kinds, "--output=wide")
    await alike(shells, "get", "virtualmachines.v1alpha1.kubevirt.io")
