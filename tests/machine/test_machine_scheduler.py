"""Pods find nodes, on a real API server."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import NODES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.objects import condition
from ingot.standalone.scheduler.scheduler import Scheduler
from ingot.standalone.volumes.binder import Binder
from machine.machine_support import a_claim, a_node, a_pod, a_volume, events_of, running

NO_PREEMPTION = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


@pytest.fixture
async def scheduler(client: Client) -> AsyncIterator[None]:
    async with running(client, Scheduler):
        yield


@pytest.fixture
async def node(client: Client) -> AsyncIterator[str]:
    await client.create(NODES, a_node("only", cpu="2"))
    yield "only"
    for each in (await client.list(NODES))["items"]:
        await client.delete(NODES, each["metadata"]["name"])


async def placed(client: Client, namespace: str, name: str) -> str:
    async def look() -> str:
        pod = await client.get(PODS, name, namespace)
        return str(pod["spec"].get("nodeName", ""))

    return await eventually(look)


async def refusal(client: Client, namespace: str, name: str, other_than: str = "") -> str:
    """What the pod's condition says, once it says something (else)."""

    async def look() -> str:
        said = condition(await client.get(PODS, name, namespace), "PodScheduled") or {}
        message = str(said.get("message", "")) if said.get("reason") == "Unschedulable" else ""
        return "" if message == other_than else message

    return await eventually(look)


@pytest.mark.usefixtures("node", "scheduler")
async def test_a_pod_is_bound_to_the_only_node(client: Client, namespace: str) -> None:
    pod = await client.create(PODS, a_pod(namespace, "p"))
    assert await placed(client, namespace, "p") == "only"
    bound = await client.get(PODS, "p", namespace)
    assert (condition(bound, "PodScheduled") or {})["status"] == "True"
    [message] = await eventually(lambda: events_of(client, pod, "Scheduled"))
    assert message == f"Successfully assigned {namespace}/p to only"


@pytest.mark.usefixtures("node", "scheduler")
async def test_a_pod_that_fits_nowhere_says_why_and_goes_as_soon_as_it_fits(client: Client, namespace: str) -> None:
    pod = await client.create(PODS, a_pod(namespace, "p", nodeSelector={"disk": "ssd"}))
    said = await refusal(client, namespace, "p")
    assert said == (f"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. {NO_PREEMPTION}")
    assert await eventually(lambda: events_of(client, pod, "FailedScheduling")) == [said]
    await client.patch(NODES, "only", {"metadata": {"labels": {"disk": "ssd"}}})
    assert await placed(client, namespace, "p") == "only"


@pytest.mark.usefixtures("scheduler")
async def test_a_pod_waits_for_the_first_node(client: Client, namespace: str) -> None:
    await client.create(PODS, a_pod(namespace, "p"))
    assert await refusal(client, namespace, "p") == "no nodes available to schedule pods"
    await client.create(NODES, a_node("late"))
    assert await placed(client, namespace, "p") == "late"
    await client.delete(NODES, "late")


@pytest.mark.usefixtures("node", "scheduler")
async def test_pods_take_no_more_than_there_is_and_follow_when_room_is_made(client: Client, namespace: str) -> None:
    names = [f"p{index}" for index in range(6)]
    half = {"cpu": "500m"}
    await asyncio.gather(*(client.create(PODS, a_pod(namespace, name, requests=half)) for name in names))

    async def waiting() -> list[str]:
        pods = (await client.list(PODS, namespace))["items"]
        left = [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
        told = [pod for pod in pods if (condition(pod, "PodScheduled") or {}).get("message")]
        return left if len(pods) - len(left) + len(told) == len(names) else []

    left = await eventually(waiting)
    assert len(left) == 2
    said = await refusal(client, namespace, left[0])
    assert said == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )
    first = next(name for name in names if name not in left)
    await client.delete(PODS, first, namespace, grace_period=0)
    second = next(name for name in names if name not in (first, *left))
    await client.patch(PODS, second, {"status": {"phase": "Succeeded"}}, namespace, subresource="status")
    for name in left:
        assert await placed(client, namespace, name) == "only"


@pytest.mark.usefixtures("node", "scheduler")
async def test_pods_of_other_schedulers_and_gated_pods_are_left_alone(client: Client, namespace: str) -> None:
    await client.create(PODS, a_pod(namespace, "theirs", schedulerName="another"))
    await client.create(PODS, a_pod(namespace, "gated", schedulingGates=[{"name": "example.com/wait"}]))
    await client.create(PODS, a_pod(namespace, "ours"))
    assert await placed(client, namespace, "ours") == "only"
    for name in ("theirs", "gated"):
        assert "nodeName" not in (await client.get(PODS, name, namespace))["spec"]
    await client.patch(PODS, "gated", {"spec": {"schedulingGates": None}}, namespace)
    assert await placed(client, namespace, "gated") == "only"


@pytest.mark.usefixtures("node", "scheduler")
async def test_a_claim_that_is_missing_or_not_bound_is_named(client: Client, namespace: str) -> None:
    await client.create(PODS, a_pod(namespace, "p", ("disk",)))
    missing = await refusal(client, namespace, "p")
    assert missing == f'0/1 nodes are available: persistentvolumeclaim "disk" not found. {NO_PREEMPTION}'
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", storageClassName=""))
    unbound = await refusal(client, namespace, "p", other_than=missing)
    assert unbound == f"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. {NO_PREEMPTION}"
    await client.create(VOLUMES, a_volume("static-a", claimRef={"namespace": namespace, "name": "disk"}))
    async with running(client, Binder):
        assert await placed(client, namespace, "p") == "only"


@pytest.mark.usefixtures("node")
async def test_a_volume_that_is_there_serves_a_claim_that_waits_for_its_pod(client: Client, namespace: str) -> None:
    await client.create(NODES, a_node("second"))
    name = f"static-{namespace}"
    await client.create(
        STORAGE_CLASSES,
        {
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", storageClassName=name))
    await client.create(PODS, a_pod(namespace, "p", ("disk",)))

    def add(manager: object) -> None:
        Scheduler(manager)  # type: ignore[arg-type]
        Binder(manager)  # type: ignore[arg-type]

    async with running(client, add):
        assert "2 node(s) didn't find available persistent volumes to bind" in await refusal(client, namespace, "p")
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["second"]}]}]
        affinity = {"required": {"nodeSelectorTerms": terms}}
        await client.create(VOLUMES, a_volume(name, storageClassName=name, nodeAffinity=affinity))
        assert await placed(client, namespace, "p") == "second"
    claim = await client.get(VOLUME_CLAIMS, "disk", namespace)
    assert claim["status"]["phase"] == "Bound"
    assert claim["spec"]["volumeName"] == name


async def test_a_hundred_pods_at_once(client: Client, namespace: str) -> None:
    await client.create(NODES, a_node("large", cpu="200"))
    pods: list[Object] = [a_pod(namespace, f"p{index}", requests={"cpu": "1"}) for index in range(100)]
    await asyncio.gather(*(client.create(PODS, pod) for pod in pods))

    async def all_placed() -> bool:
        found = (await client.list(PODS, namespace))["items"]
        return all(pod["spec"].get("nodeName") for pod in found)

    began = time.process_time()
    async with running(client, Scheduler):
        await eventually(all_placed)
    # This process alone: the scheduler, and the waiting for it. Generous, for the machine may be busy.
    assert time.process_time() - began < 3.0
    await client.delete(NODES, "large")
