"""Claims that are filled beside Kubernetes' own volume controllers, which bind, protect and collect (G1)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from control.population import Population, annotations, population, populators, worker_name
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.control.volumes.marks import phase_of
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from kube.binaries import binaries, why_not
from kube.cluster import CONTROLLERS, ControlPlane
from kube.test_kube_scheduling import VOLUME_CONTROLLERS
from kube.webhooks import Webhooks, install


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A control plane with volume controllers and Ingot's kinds. Skips where it was not asked for, or is not built."""
    if "kube" not in request.config.getoption("--servers").split(","):
        pytest.skip("real Kubernetes was not asked for: run `make test-kube`")
    if binaries() is None:
        pytest.skip(why_not())
    directory = tmp_path_factory.mktemp("population")
    with (
        ControlPlane(directory, controllers=(*CONTROLLERS, *VOLUME_CONTROLLERS)) as started,
        Webhooks(tmp_path_factory.mktemp("webhooks"), started.kubeconfig) as served,
    ):
        asyncio.run(_install(started.kubeconfig, served))
        yield started.kubeconfig


async def _install(kubeconfig: Path, served: Webhooks) -> None:
    async with Client.connect(load(kubeconfig)) as client:
        await install(client, served)


@pytest.fixture
async def world(cluster: Path) -> AsyncIterator[Population]:
    async with (
        Client.connect(load(cluster), on_warning=lambda _: None) as client,
        population(client) as made,
        populators(made),
    ):
        yield made


async def storage_class(world: Population, mode: str) -> str:
    name = f"{world.namespace}-{mode.lower()}"
    made = {"metadata": {"name": name}, "provisioner": "example.com/none", "volumeBindingMode": mode}
    await world.client.create(STORAGE_CLASSES, made)
    return name


async def provision(world: Population, claim: Object) -> Object:
    """The provisioner: makes a volume for the prime, which the cluster binds."""
    name = names.prime_name(claim)
    prime = await world.get(VOLUME_CLAIMS, name)
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace_of(prime), "name": name}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": prime["spec"]["storageClassName"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {**reference, "uid": uid_of(prime)},
        "hostPath": {"path": "/nowhere"},
    }
    volume = await world.client.create(VOLUMES, {"metadata": {"name": f"pv-{uid_of(prime)}"}, "spec": spec})
    await world.until(VOLUME_CLAIMS, name, lambda each: (each.get("status") or {}).get("phase") == "Bound")
    return volume


async def ends_well(world: Population, claim: Object) -> None:
    """The kubelet: the worker has done its work."""
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "message": '{"done": 7}'}}
    status = {"name": "worker", "image": "ingot", "imageID": "", "restartCount": 0, "ready": False, "state": ended}
    await world.pod_status(await world.worker(claim), phase="Succeeded", containerStatuses=[status])


async def gone(world: Population, claim: Object) -> None:
    """Prime and worker have gone, with a kubelet and all else the cluster's own."""

    async def look() -> bool:
        await world.end_pods()
        return await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim)) and await world.is_gone(
            PODS, worker_name(claim)
        )

    await eventually(look)


async def released(world: Population, volume: Object) -> None:
    """The cluster has taken the volume back."""

    async def look() -> bool:
        return phase_of(await world.client.get(VOLUMES, name_of(volume))) == "Released"

    await eventually(look)


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
async def test_the_cluster_binds_the_volume_that_a_claim_is_given(world: Population, mode: str) -> None:
    await world.source()
    claim = await world.claim(storage_class=await storage_class(world, mode), annotations={names.IMMEDIATE: "true"})
    await world.worker(claim)
    volume = await provision(world, claim)
    await ends_well(world, claim)
    bound = await world.until(VOLUME_CLAIMS, "disk", lambda each: each["status"].get("phase") == "Bound")
    assert bound["spec"]["volumeName"] == name_of(volume)
    await world.tells(claim, names.POD_PHASE, "Succeeded")
    await gone(world, claim)
    kept = await world.client.get(VOLUMES, name_of(volume))
    assert kept["status"]["phase"] == "Bound"
    assert kept["spec"]["claimRef"]["uid"] == uid_of(claim)
    assert annotations(kept)[names.FILLED_FOR] == uid_of(claim)


async def test_a_claim_that_is_deleted_while_its_worker_runs_leaves_nothing(world: Population) -> None:
    """The prime is protected while its worker runs, and the worker is collected with the prime: one must go first."""
    await world.source()
    claim = await world.claim(storage_class=await storage_class(world, "Immediate"))
    await world.worker(claim)
    volume = await provision(world, claim)
    pod = await world.worker(claim)
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": world.far}}
    binding["metadata"] = {"name": name_of(pod), "namespace": world.namespace}
    await world.node(world.far)
    await world.client.create(PODS, binding, name=name_of(pod), subresource="binding")
    await world.runs(claim)
    await world.client.delete(VOLUME_CLAIMS, "disk", world.namespace)
    await world.gone(VOLUME_CLAIMS, "disk")
    await gone(world, claim)
    await released(world, volume)


async def test_a_target_that_vanishes_after_it_was_given_its_volume_lets_it_go(world: Population) -> None:
    await world.source()
    claim = await world.claim(storage_class=await storage_class(world, "Immediate"))
    await world.worker(claim)
    volume = await provision(world, claim)
    await ends_well(world, claim)
    await world.client.delete(VOLUME_CLAIMS, "disk", world.namespace)
    await world.gone(VOLUME_CLAIMS, "disk")
    await gone(world, claim)
    await released(world, volume)
