"""Ingot's kinds on a real cluster, through webhooks: it accepts, refuses and shows what one machine does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import ApiError
from ingot.kube.access import allowed
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from kube.pair import Pair, difference, resource
from kube.webhooks import Webhooks, manifests
from wire.kinds import ROLE_BINDINGS, ROLES
from wire.normal import lines
from wire.shell import Kubectl, Output

EXAMPLES = Path(__file__).parents[2] / "examples"
V1, ALPHA, CDI = "kubevirt.io/v1", "kubevirt.io/v1alpha1", "cdi.kubevirt.io/v1beta1"
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
    (made("DataVolume", CDI, {"storage": BLANK["storage"]}), "spec"),
    (made("DataVolume", CDI, {**BLANK, "preallocation": "yes"}), "spec.preallocation"),
    (made("DataImportCron", CDI, cron("every now and then")), "spec.schedule"),
    ({key: value for key, value in VOLUME.items() if key != "spec"}, "spec"),
]


@pytest.mark.parametrize(("asked", "field"), REFUSED)
async def test_a_refusal_names_the_same_fields(both: Pair, asked: Object, field: str) -> None:
    told = await both.create(asked)
    assert (told["kind"], told["reason"], told["code"]) == ("Status", "Invalid", 422)
    assert field in [cause["field"] for cause in told["details"]["causes"]]


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


async def granted(both: Pair, name: str, rule: Object) -> None:
    """Grants jane a right in the namespace of the pair. It is in effect on return."""
    metadata = {"name": name, "namespace": both.namespace}
    reference = {"apiGroup": ROLES.group, "kind": "Role", "name": name}
    subject = {"apiGroup": ROLES.group, "kind": "User", "name": "jane"}
    attributes = {"group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": rule["verbs"][0]}
    for client in (both.ours, both.theirs):
        await client.create(ROLES, {"metadata": metadata, "rules": [rule]})
        await client.create(ROLE_BINDINGS, {"metadata": metadata, "roleRef": reference, "subjects": [subject]})
        asked = {**attributes, "namespace": both.namespace}
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
    assert first.out.count(" created\n") == len(asked) + 1
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
    assert "NAME PHASE PROGRESS RESTARTS AGE" in rows
    assert "datavolume.cdi.kubevirt.io/it ImportInProgress 42.00% 2 <age>" in rows
    await alike(shells, "get", kinds, "--output=wide")
    await alike(shells, "get", "virtualmachines.v1alpha1.kubevirt.io")
