"""This machine as a Node: registered once, heard of every ten seconds, written only when it changes."""

import logging
import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import LEASES, NODES
from ingot.api.status import ApiError
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock, micro_timestamp, timestamp
from ingot.kube.objects import condition, copy_of
from ingot.kube.transport import ConnectionFailed
from ingot.standalone.children import down_seconds
from ingot.standalone.pods.downward import ADDRESS
from ingot.standalone.pods.withdrawal import withdraw

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
RETRY_SECONDS = 1.0
STATUS_SECONDS = 300.0
MOST_PODS = 250
# The process beside us that runs machines, and for how long it may be missing before none are sent here. An agent
# that was killed is back sooner.
AGENT = "agent"
DOWN_SECONDS = 3.0
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Node:
    """Keeps the Node object and its Lease. `directory` is where pods keep their files."""

    def __init__(self, client: Client, name: str, directory: Path, clock: Clock = SYSTEM) -> None:
        self._client = client
        self._name = name
        self._directory = directory
        self._clock = clock
        self._written: Object | None = None
        self._due = 0.0

    async def run(self) -> None:
        """Tells that this machine is there, until cancelled. A node that somebody deleted comes back."""
        while True:
            pause = RENEW_SECONDS
            try:
                await self.beat()
            except (ApiError, ConnectionFailed) as error:
                pause = RETRY_SECONDS
                log.warning("node %s: %s; again in %g s", self._name, error, pause)
            await self._clock.sleep(pause)

    async def beat(self) -> None:
        """Tells it once. Raises ApiError and ConnectionFailed."""
        status = describe(self._directory)
        if status != self._written or self._clock.monotonic() >= self._due:
            await self._write(status)
            self._written = status
            self._due = self._clock.monotonic() + STATUS_SECONDS
        try:
            await self._renew()
        except ApiError as error:
            if error.code != 404:
                raise
            # There was none yet, or it went with its Node.
            await self._create_lease(await self._write(status))
        if down_seconds(self._directory, AGENT) >= DOWN_SECONDS and await withdraw(self._client, self._name):
            log.warning("node %s: its agent does not run; no machines are sent here until it does", self._name)

    async def _write(self, status: Object) -> Object:
        """Registers the node, or brings it up to date; the node."""
        labels = {
            "kubernetes.io/hostname": self._name,
            "kubernetes.io/arch": status["nodeInfo"]["architecture"],
            "kubernetes.io/os": "linux",
        }
        try:
            node = await self._client.get(NODES, self._name)
        except ApiError as error:
            if error.code != 404:
                raise
            fresh = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self._name, "labels": labels}}
            node = await self._client.create(NODES, fresh)
        if not labels.items() <= (node["metadata"].get("labels") or {}).items():
            node = await self._client.patch(NODES, self._name, {"metadata": {"labels": labels}})
        wanted = copy_of(node)
        known = wanted.setdefault("status", {})
        for sort in ("capacity", "allocatable"):
            known[sort] = {**known.get(sort, {}), **status[sort]}
        others = [each for each in known.get("conditions") or () if each["type"] != "Ready"]
        known["conditions"] = [*others, self._ready(node)]
        known["nodeInfo"] = status["nodeInfo"]
        known["addresses"] = [
            {"type": "InternalIP", "address": ADDRESS},
            {"type": "Hostname", "address": self._name},
        ]
        return await patch_status(self._client, NODES, node, wanted)

    def _ready(self, node: Object) -> Object:
        now = timestamp(self._clock.time())
        known = condition(node, "Ready") or {}
        since = known.get("lastTransitionTime", now) if known.get("status") == "True" else now
        return {
            "type": "Ready",
            "status": "True",
            "reason": "PodRunnerReady",
            "message": "pods are run on this machine",
            "lastHeartbeatTime": now,
            "lastTransitionTime": since,
        }

    async def _renew(self) -> None:
        renewed = {"spec": {"renewTime": micro_timestamp(self._clock.time())}}
        await self._client.patch(LEASES, self._name, renewed, LEASE_NAMESPACE)

    async def _create_lease(self, node: Object) -> None:
        """A Lease that goes with its node, so that a node that was deleted is missed soon."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": LEASE_NAMESPACE, "ownerReferences": [_owner(node)]},
            "spec": {
                "holderIdentity": self._name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": micro_timestamp(self._clock.time()),
            },
        }
        await self._client.create(LEASES, lease)


def _owner(node: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "name": name_of(node), "uid": uid_of(node)}


def describe(directory: Path) -> Object:
    """What this machine has and is, as a Node's status says it."""
    disk = os.statvfs(directory)
    capacity = {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 1024}Ki",
        "pods": str(MOST_PODS),
        "ephemeral-storage": f"{disk.f_blocks * disk.f_frsize // 1024}Ki",
    }
    return {"capacity": capacity, "allocatable": dict(capacity), "nodeInfo": _information()}


@cache
def _information() -> Object:
    machine = platform.machine()
    identity = _line(Path("/etc/machine-id"))
    return {
        "machineID": identity,
        "systemUUID": identity,
        "bootID": _line(Path("/proc/sys/kernel/random/boot_id")),
        "kernelVersion": platform.release(),
        "osImage": _system(),
        "containerRuntimeVersion": f"ingot://{version('ingot')}",
        "kubeletVersion": f"ingot-{version('ingot')}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": _ARCHITECTURES.get(machine, machine),
    }


def _line(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
