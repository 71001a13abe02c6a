"""A whole cluster with Ingot on it, as deploy/ installs it: control plane, scheduler, one real node, webhooks, and the
controllers in pods, with no more rights than their role gives them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from kube import ingot_image
from kube.binaries import binaries
from kube.binaries import why_not as no_binaries
from kube.cluster import CONTROLLERS, ControlPlane
from kube.node import NODE_CONTROLLERS, RealNode
from kube.node import why_not as no_node
from kube.process import Process
from kube.provisioner import Room
from kube.webhooks import DEPLOY, Webhooks, install

_CONTROLLERS = (
    *CONTROLLERS,
    *NODE_CONTROLLERS,
    "deployment-controller",
    "replicaset-controller",
    "endpoints-controller",
    "endpointslice-controller",
)
NAMESPACE, DEPLOYMENT, GATEWAY = "ingot", "ingot-controllers", "ingot-gateway"
API_SERVICES = ("apiservice/v1beta1.upload.cdi.kubevirt.io", "apiservice/v1alpha1.upload.cdi.kubevirt.io")
_READY_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Installation:
    """`room` is where the volumes of the node lie."""

    node: RealNode
    room: Room

    @property
    def kubeconfig(self) -> Path:
        return self.node.cluster.kubeconfig

    def said(self, deployment: str = DEPLOYMENT) -> str:
        """What the controllers, or another of Ingot's, have written, of all pods that they ever had."""
        logs = sorted((self.node.directory / "logs").glob(f"{NAMESPACE}_{deployment}-*/*/*.log"))
        return "".join(each.read_text() for each in logs)


def why_not() -> str:
    """Why it cannot be had on this machine; "" when it can."""
    return ("" if binaries() else no_binaries()) or no_node() or ingot_image.why_not()


@contextmanager
def installed(directory: Path) -> Iterator[Installation]:
    """The cluster for the length of the block."""
    with (
        ControlPlane(directory / "cluster", controllers=_CONTROLLERS) as cluster,
        Process("kube-scheduler", _scheduler(cluster), directory / "kube-scheduler.log"),
        Room(directory / "volumes") as room,
        RealNode(cluster, directory / "node") as node,
        Webhooks(directory, cluster.kubeconfig) as webhooks,
    ):
        node.load(ingot_image.write)
        asyncio.run(_install(cluster.kubeconfig, webhooks))
        for manifest in ("roles.yaml", "controllers.yaml", "gateway.yaml"):
            node.kubectl("apply", "--server-side", "-f", str(DEPLOY / manifest))
        found = Installation(node, room)
        timeout = f"--timeout={_READY_SECONDS}s"
        try:
            for name in (DEPLOYMENT, GATEWAY):
                node.kubectl("rollout", "status", f"deployment/{name}", "-n", NAMESPACE, timeout)
            node.kubectl("wait", "--for=condition=Available", *API_SERVICES, timeout)
        except RuntimeError as error:
            told = node.kubectl("describe", "pods", "-n", NAMESPACE)
            raise AssertionError(f"{error}\n{told}\n{found.said()}\n{found.said(GATEWAY)}") from error
        yield found


def _scheduler(cluster: ControlPlane) -> list[str]:
    options = [f"--kubeconfig={cluster.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
    return [str(cluster.programs / "kube-scheduler"), *options]


async def _install(kubeconfig: Path, webhooks: Webhooks) -> None:
    async with Client.connect(load(kubeconfig)) as client:
        await install(client, webhooks)
