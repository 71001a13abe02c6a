"""Where pods go, why they do not, and which claim gets which volume: Ingot's parts beside Kubernetes' own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.manager import Manager
from ingot.kube.objects import condition
from ingot.standalone.scheduler.scheduler import Scheduler
from ingot.standalone.volumes.binder import Binder
from ingot_up import IngotUp
from kube.binaries import binaries, why_not
from kube.cluster import CONTROLLERS, ControlPlane
from kube.process import Process
from machine.machine_support import HOSTNAME, a_claim, a_node, a_pod, a_volume, events_of, running

VOLUME_CONTROLLERS = (
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
)
# What Kubernetes' scheduler says of a claim that has not come to it yet.
NOT_SEEN = "could not find v1.PersistentVolumeClaim"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with IngotUp(tmp_path_factory.mktemp("scheduling") / "d") as server:
        yield server.kubeconfig


@pytest.fixture(scope="module")
def theirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A control plane with scheduler and volume controller. Skips where it was not asked for, or is not built."""
    if "kube" not in request.config.getoption("--servers").split(","):
        pytest.skip("real Kubernetes was not asked for: run `make test-kube`")
    if binaries() is None:
        pytest.skip(why_not())
    directory = tmp_path_factory.mktemp("scheduling-kube")
    with ControlPlane(directory, controllers=(*CONTROLLERS, *VOLUME_CONTROLLERS)) as cluster:
        options = [f"--kubeconfig={cluster.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        command = [str(cluster.programs / "kube-scheduler"), *options]
        with Process("kube-scheduler", command, directory / "kube-scheduler.log"):
            yield cluster.kubeconfig


class Stage:
    """One API server, a namespace of its own, and nodes that are gone afterwards."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._nodes = 0

    async def node(self, name: str, spec: Object | None = None, **options: Any) -> None:
        """A node that is ready, and that the scheduler knows: servers taint new ones until somebody says so."""
        wanted = spec or {}
        await self.client.create(NODES, {**a_node(name, **options), "spec": wanted})

        async def ready() -> bool:
            changed = await self.client.patch(NODES, name, {"spec": {"taints": wanted.get("taints")}})
            return bool(changed["spec"].get("taints") == wanted.get("taints"))

        await eventually(ready)
        self._nodes += 1
        await self.settled()

    async def settled(self) -> None:
        """Waits until the scheduler knows the nodes that there are, and no others."""
        known = f"0/{self._nodes} nodes" if self._nodes else "no nodes"

        async def knows() -> bool:
            name = f"probe-{uuid4().hex[:8]}"
            said = await self.pod(name, nodeSelector={"no": "where"})
            await self.client.delete(PODS, name, self.namespace, grace_period=0)
            return said.startswith(known) and "not-ready" not in said

        await eventually(knows)

    async def pod(
        self,
        name: str,
        claims: tuple[str, ...] = (),
        labels: Object | None = None,
        passing: str = NOT_SEEN,
        **spec: Any,
    ) -> str:
        """Where a new pod goes, or why it does not. What is `passing` is no answer yet, nor that a claim is unseen."""
        pod = a_pod(self.namespace, name, claims, **spec)
        pod["metadata"]["labels"] = labels or {}
        await self.client.create(PODS, pod)

        async def outcome() -> str:
            found = await self.client.get(PODS, name, self.namespace)
            said = str((condition(found, "PodScheduled") or {}).get("message") or "")
            return str(found["spec"].get("nodeName") or ("" if passing in said or NOT_SEEN in said else said))

        return await eventually(outcome)

    async def claim(self, name: str, **spec: Any) -> Object:
        return await self.client.create(VOLUME_CLAIMS, a_claim(self.namespace, name, **spec))

    async def claim_in(self, name: str, phase: str = "Bound") -> Object:
        async def look() -> Object | None:
            claim = await self.client.get(VOLUME_CLAIMS, name, self.namespace)
            return claim if claim["status"]["phase"] == phase else None

        return await eventually(look)

    async def told(self, claim: Object, reason: str) -> list[str]:
        messages = await eventually(lambda: events_of(self.client, claim, reason))
        return [message.replace(self.namespace, "NAMESPACE") for message in messages]

    async def storage_class(self, provisioner: str, mode: str) -> str:
        body = {"metadata": {"name": self.namespace}, "provisioner": provisioner, "volumeBindingMode": mode}
        await self.client.create(STORAGE_CLASSES, body)
        return self.namespace


def near(kind: str, labels: Object) -> Object:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


async def nodes_that_do_not_suit(stage: Stage) -> list[str]:
    said = [await stage.pod("first")]
    await stage.node("one")
    said.append(await stage.pod("selector", nodeSelector={"a": "b"}))
    await stage.node("cordoned", spec={"unschedulable": True})
    said.append(await stage.pod("put-off", nodeSelector={HOSTNAME: "cordoned"}))
    taints = [{"key": "k", "value": "v", "effect": "NoExecute"}, {"key": "z", "effect": "NoSchedule"}]
    await stage.node("two", spec={"taints": taints})
    said.append(await stage.pod("tainted", nodeSelector={HOSTNAME: "two"}))
    return said


async def resources(stage: Stage) -> list[str]:
    await stage.node("one", cpu="2", pods="3")
    said = [await stage.pod("huge", requests={"cpu": "100", "memory": "100Gi", "ephemeral-storage": "1000Gi"})]
    said.append(await stage.pod("half", requests={"cpu": "1500m"}))
    said.append(await stage.pod("more", requests={"cpu": "1"}))
    ports = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}
    said.append(await stage.pod("port", containers=[ports]))
    said.append(await stage.pod("same-port", containers=[ports]))
    said.append(await stage.pod("third"))
    said.append(await stage.pod("fourth", requests={"cpu": "1"}))
    return said


async def neighbours(stage: Stage) -> list[str]:
    await stage.node("one")
    said = [await stage.pod("db", labels={"app": "db"})]
    said.append(await stage.pod("away", affinity=near("podAntiAffinity", {"app": "db"})))
    said.append(await stage.pod("alone", affinity=near("podAffinity", {"app": "nobody"})))
    said.append(await stage.pod("close", affinity=near("podAffinity", {"app": "db"})))
    said.append(await stage.pod("hermit", affinity=near("podAntiAffinity", {"loud": "yes"})))
    said.append(await stage.pod("loud", labels={"loud": "yes"}))
    return said


async def pods_with_claims(stage: Stage) -> list[str]:
    await stage.node("one")
    said = [await stage.pod("absent", ("nothing",))]
    await stage.claim("immediate", storageClassName="")
    said.append(await stage.pod("unbound", ("immediate",), passing="not found"))
    name = await stage.storage_class("kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    await stage.claim("waiting", storageClassName=name)
    said.append(await stage.pod("nowhere", ("waiting",), passing="persistentvolumeclaim"))
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["elsewhere"]}]}]
    far: Object = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, "storageClassName": f"{name}-far"}
    await stage.client.create(VOLUMES, a_volume(f"far-{name}", **far))
    await stage.claim("far", storageClassName=f"{name}-far")
    await stage.claim_in("far")
    said.append(await stage.pod("distant", ("far",), passing="unbound immediate"))
    return said


async def bound_and_released(stage: Stage) -> list[Object]:
    name = stage.namespace
    await stage.client.create(VOLUMES, a_volume(name, storageClassName=name))
    await stage.claim("disk", storageClassName=name)
    claim, volume = await stage.claim_in("disk"), await stage.client.get(VOLUMES, name)
    reference = sorted(volume["spec"]["claimRef"])
    seen = [claim["metadata"]["annotations"], claim["status"], volume["metadata"]["annotations"], {"keys": reference}]
    await stage.client.delete(VOLUME_CLAIMS, "disk", name)

    async def released() -> Object | None:
        found = await stage.client.get(VOLUMES, name)
        return found if found["status"]["phase"] == "Released" else None

    left = await eventually(released)
    return [*seen, left["metadata"]["annotations"], {"keys": sorted(left["spec"]["claimRef"])}]


async def claims_that_wait(stage: Stage) -> list[list[str]]:
    delayed = await stage.storage_class("example.com/x", "WaitForFirstConsumer")
    said = [await stage.told(await stage.claim("delayed", storageClassName=delayed), "WaitForFirstConsumer")]
    said.append(await stage.told(await stage.claim("none", storageClassName=""), "FailedBinding"))
    said.append(await stage.told(await stage.claim("unknown", storageClassName="unknown"), "ProvisioningFailed"))
    await stage.client.create(VOLUMES, a_volume(delayed, "1Mi", storageClassName=f"{delayed}-x"))
    large = await stage.claim("large", storageClassName=f"{delayed}-x", volumeName=delayed)
    said.append(await stage.told(large, "VolumeMismatch"))
    return said


Play = Callable[[Stage], Awaitable[Any]]
PLAYS: tuple[Play, ...] = (
    nodes_that_do_not_suit,
    resources,
    neighbours,
    pods_with_claims,
    bound_and_released,
    claims_that_wait,
)


async def played(kubeconfig: Path, play: Play, add: Callable[[Manager], None]) -> Any:
    async with Client.connect(load(kubeconfig), on_warning=lambda _: None) as client, running(client, add):
        name = f"stage-{uuid4().hex[:8]}"
        await client.create(NAMESPACES, {"metadata": {"name": name}})
        await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name))
        try:
            stage = Stage(client, name)
            await stage.settled()
            return await play(stage)
        finally:
            for kind, namespace in ((PODS, name), (NODES, "")):
                for each in (await client.list(kind, namespace))["items"]:
                    await client.delete(kind, each["metadata"]["name"], namespace, grace_period=0)


def parts(manager: Manager) -> None:
    Scheduler(manager)
    Binder(manager)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
async def test_the_same_as_kubernetes(ours: Path, theirs: Path, play: Play) -> None:
    assert await played(ours, play, parts) == await played(theirs, play, lambda _: None)
