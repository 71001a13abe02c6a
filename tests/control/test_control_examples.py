"""Every example about machines, ours and the seeds', becomes an instance with a launcher pod, or says what it lacks."""

import sys
from pathlib import Path

import pytest
import yaml

from control.world import World
from eventual import eventually
from ingot.api.cdi.names import ADOPT
from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLASSIC_VMS,
    DATA_SOURCES,
    DATA_VOLUMES,
    INSTANCES,
    MACHINES,
    REPLICA_SETS,
    SECRETS,
    VOLUME_CLAIMS,
)
from ingot.kube.objects import controller_of

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "unit" / "api"))
from seed_examples import examples  # noqa: E402

KINDS = {each.kind: each for each in (CLASSIC_VMS, MACHINES, INSTANCES, REPLICA_SETS)}
# What else is in our files beside a machine.
OTHERS = {each.kind: each for each in (SECRETS, VOLUME_CLAIMS)}
# They come from a registry or out of a container: sources of which the instance says that they are to come.
UNDELIVERED = ("containerDisk", "container")


def is_machine(obj: Object) -> bool:
    return obj["kind"] in KINDS and obj["apiVersion"].startswith("kubevirt.io/")


def files() -> dict[str, list[Object]]:
    """What is in each of our files that has a machine in it."""
    paths = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "examples" / "vms").glob("*.yaml")])
    found = {path.stem: list(yaml.safe_load_all(path.read_text())) for path in paths}
    return {name: objects for name, objects in found.items() if any(map(is_machine, objects))}


def manifests() -> dict[str, Object]:
    """The machines of our files and of the seeds."""
    ours = {name: next(filter(is_machine, objects)) for name, objects in files().items()}
    return ours | {name: obj for name, obj in examples().items() if is_machine(obj)}


def test_each_of_our_files_about_machines_is_tried() -> None:
    assert {path.stem for path in (ROOT / "examples" / "vms").iterdir()} <= files().keys()
    assert all(sum(map(is_machine, objects)) == 1 for objects in files().values())


async def claimed(world: World, name: str) -> None:
    """A claim that is bound, and filled where there is a DataVolume."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if not await world.is_gone(DATA_VOLUMES, name):
        found = await world.until(DATA_VOLUMES, name, lambda each: (each.get("status") or {}).get("phase"))
        if found["status"]["phase"] == "Pending":
            # What it clones is not in this world, so that it has to take a claim as that is.
            await world.change(DATA_VOLUMES, name, {"metadata": {"annotations": {ADOPT: "true"}}})
    if await world.is_gone(VOLUME_CLAIMS, name):
        await world.create(VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": spec})
    await world.bind(name)


async def linked(world: World, spec: Object) -> None:
    """The DataSource that a DataVolume names is in this world; what it stands for is not there yet."""
    if reference := spec.get("sourceRef"):
        reference["namespace"] = world.namespace
        source = {"pvc": {"namespace": world.namespace, "name": "golden"}}
        await world.create(DATA_SOURCES, {"metadata": {"name": reference["name"]}, "spec": {"source": source}})


@pytest.mark.parametrize("name", manifests())
async def test_an_example(world: World, name: str) -> None:
    manifest = manifests()[name]
    for other in files().get(name, ()):
        if not is_machine(other):
            await world.create(OTHERS[other["kind"]], other)
    group, version = manifest["apiVersion"].split("/")
    known = KINDS[manifest["kind"]]
    spec = manifest["spec"]
    if manifest["kind"] == "VirtualMachine" and "template" in spec:
        spec["runStrategy"] = "Always"
    for template in spec.get("dataVolumeTemplates") or ():
        await linked(world, template["spec"])
    made = await world.create(Resource(group, version, known.plural, known.kind), manifest)
    for template in spec.get("dataVolumeTemplates") or ():
        await world.until(DATA_VOLUMES, template["metadata"]["name"], bool)
    if manifest["kind"] == "VirtualMachine":
        await world.change(MACHINES, name_of(made), {"spec": {"running": None, "runStrategy": "Always"}})
        stored = (await world.get(MACHINES, name_of(made)))["spec"]["template"]["spec"]
    else:
        spec = (await world.get(known, name_of(made)))["spec"]
        stored = spec["template"]["spec"] if "template" in spec else spec
    volumes = stored.get("volumes") or []
    for each in volumes:
        source = each.get("persistentVolumeClaim") or {}
        if claim := source.get("claimName") or (each.get("dataVolume") or {}).get("name"):
            await claimed(world, claim)

    async def instances() -> list[Object]:
        listed = await world.client.list(INSTANCES, world.namespace)
        return list(listed["items"])

    found = (await eventually(instances))[0]
    if manifest["kind"] != "VirtualMachineInstance":
        assert (controller_of(found) or {})["name"] == name_of(made)
    if any(source in each for each in volumes for source in UNDELIVERED):
        await world.refused(name_of(found), "VolumeSourceNotSupported")
        await world.reaches(name_of(found), phase.PENDING)
    else:
        await world.pod_of(name_of(found))
        await world.reaches(name_of(found), phase.SCHEDULING)


async def test_a_vm_of_the_oldest_kind_shows_how_its_instance_fares(world: World) -> None:
    spec = {"domain": {"devices": {"autoattachPodInterface": False}}}
    await world.create(CLASSIC_VMS, {"metadata": {"name": "old"}, "spec": spec})
    await world.run("old")
    shown = await world.until(CLASSIC_VMS, "old", lambda vm: phase.phase_of(vm) == phase.RUNNING)
    assert shown["status"]["nodeName"] == world.far
    await world.end("old")
    await world.until(CLASSIC_VMS, "old", lambda vm: phase.phase_of(vm) == phase.SUCCEEDED)
    await world.client.delete(INSTANCES, "old", world.namespace)
    await world.gone_with_pod(INSTANCES, "old")
    await world.quiet("old")
    assert await world.is_gone(INSTANCES, "old")


async def test_a_vm_of_the_oldest_kind_goes_after_its_instance(world: World) -> None:
    spec = {"domain": {"devices": {"autoattachPodInterface": False}}}
    await world.create(CLASSIC_VMS, {"metadata": {"name": "old"}, "spec": spec})
    await world.run("old")
    await world.client.delete(CLASSIC_VMS, "old", world.namespace)
    await world.until(INSTANCES, "old", lambda each: each["metadata"].get("deletionTimestamp"))
    assert not await world.is_gone(CLASSIC_VMS, "old")
    await world.end("old")
    await world.gone_with_pod(CLASSIC_VMS, "old")
    assert await world.is_gone(INSTANCES, "old")
