"""Populators at work in the test's own process; scheduler, kubelet and binder are the test."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from control.clock import WorldClock
from control.world import World
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import (
    EVENTS,
    IMPORT_SOURCES,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.volumes.populator import Populators
from ingot.kube.client import Client
from ingot.kube.manager import Manager

KILLED = {"exitCode": 137, "reason": "Error"}


def last_words(reason: str, message: str, *, retry: bool) -> Object:
    """How a worker ends that cannot do its work."""
    words = json.dumps({"reason": reason, "message": message, "retry": retry})
    return {"exitCode": 1, "reason": "Error", "message": words}


class Population(World):
    """A namespace with claims that are to be filled."""

    def __init__(self, client: Client, namespace: str) -> None:
        super().__init__(client, namespace, WorldClock(time.time()))

    async def source(self, name: str = "source", **given: Any) -> Object:
        spec = {"source": given or {"blank": {}}}
        return await self.create(IMPORT_SOURCES, {"metadata": {"name": name}, "spec": spec})

    async def claim(self, name: str = "disk", source: str = "source", **metadata: Any) -> Object:
        """A claim without a class, which nobody but the test binds."""
        reference = {"apiGroup": names.GROUP, "kind": IMPORT_SOURCES.kind, "name": source}
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": metadata.pop("storage_class", ""),
            "dataSourceRef": reference,
        }
        return await self.create(VOLUME_CLAIMS, {"metadata": {"name": name, **metadata}, "spec": spec})

    async def delayed_class(self) -> str:
        made = {"provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"}
        name = f"late-{self.namespace}"
        await self.client.create(STORAGE_CLASSES, {"metadata": {"name": name}, **made})
        return name

    async def worker(self, claim: Object) -> Object:
        """The pod that fills the claim, once it is there."""
        return await self.until(PODS, worker_name(claim), lambda pod: "deletionTimestamp" not in pod["metadata"])

    async def runs(self, claim: Object, restarts: int = 0, **how: str) -> Object:
        """The kubelet: the worker runs."""
        return await self.container(claim, "Running", restarts, {"running": how}, ready=True)

    async def fails(self, claim: Object, restarts: int, ended: Object) -> Object:
        """The kubelet: the worker has ended so, and is started again some time."""
        waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
        return await self.container(claim, "Running", restarts, waits, lastState={"terminated": ended})

    async def succeeds(self, claim: Object, *, bound: bool = False) -> Object:
        """The kubelet: the worker has done its work; and the binder: its claim has a volume, unless it had before."""
        if not bound:
            await self.bind(names.prime_name(claim))
        ended = {"exitCode": 0, "reason": "Completed", "message": '{"done": 7}'}
        return await self.container(claim, "Succeeded", 0, {"terminated": ended})

    async def container(
        self, claim: Object, phase: str, restarts: int, state: Object, *, ready: bool = False, **more: Any
    ) -> Object:
        """The kubelet: that is how the worker's container is."""
        status = {"name": "worker", "image": "ingot", "imageID": "", "restartCount": restarts, "state": state}
        pod = await self.worker(claim)
        return await self.pod_status(
            pod, phase=phase, ready=ready, containerStatuses=[{**status, "ready": ready, **more}]
        )

    async def not_mounted(self, claim: Object, message: str) -> None:
        """The kubelet: the worker of the claim cannot start."""
        await self.warns(await self.worker(claim), PODS.kind, "FailedMount", message)

    async def not_provisioned(self, name: str, message: str) -> None:
        """The provisioner: there is no volume for the claim."""
        await self.warns(await self.get(VOLUME_CLAIMS, name), VOLUME_CLAIMS.kind, "ProvisioningFailed", message)

    async def warns(self, obj: Object, kind: str, reason: str, message: str) -> None:
        """Somebody: an event about the object, of that kind."""
        named = {"apiVersion": "v1", "kind": kind, "namespace": self.namespace, "name": name_of(obj)}
        event = {"involvedObject": {**named, "uid": uid_of(obj)}, "reason": reason, "type": "Warning"}
        await self.create(EVENTS, {"metadata": {"generateName": "refused-"}, **event, "message": message})

    async def meddler(self, claim: Object) -> None:
        """Somebody: a pod that has the volume which is filled."""
        container = {"name": "x", "image": "example.com/none", "volumeMounts": [{"name": "disk", "mountPath": "/disk"}]}
        volume = {"name": "disk", "persistentVolumeClaim": {"claimName": names.prime_name(claim)}}
        spec = {"containers": [container], "volumes": [volume]}
        await self.create(PODS, {"metadata": {"name": "meddler"}, "spec": spec})

    async def pretender(self, claim: Object, namespace: str, name: str) -> Object:
        """Somebody: a pod that says it is the claim's worker, and has ended well. It stays as long as they like."""
        prime = await self.get(VOLUME_CLAIMS, names.prime_name(claim))
        owner = {"apiVersion": "v1", "kind": prime["kind"], "name": name_of(prime), "uid": uid_of(prime)}
        pod: Object = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "ownerReferences": [{**owner, "controller": True}],
                "labels": {names.COMPONENT: "importer", names.TRANSFER: "true"},
                "annotations": {names.PRIME_FOR: f"{self.namespace}/{name_of(claim)}"},
                "finalizers": ["example.com/kept"],
            },
            "spec": {"containers": [{"name": "worker", "image": "example.com/none"}]},
        }
        await self.client.create(PODS, pod)
        ended = {"exitCode": 0, "reason": "Completed", "message": '{"done": 7}'}
        status = {"name": "worker", "image": "", "imageID": "", "restartCount": 0, "ready": False}
        wanted = {"phase": "Succeeded", "containerStatuses": [{**status, "state": {"terminated": ended}}]}
        return await self.client.patch(PODS, name, {"status": wanted}, namespace, subresource="status")

    async def given(self, claim: Object) -> Object:
        """The volume that the claim was given."""
        volume = f"{self.namespace}-{names.prime_name(claim)}"

        async def look() -> Object | None:
            found = await self.client.get(VOLUMES, volume)
            return found if found["spec"]["claimRef"]["uid"] == uid_of(claim) else None

        return await eventually(look)

    async def binds(self, claim: Object) -> Object:
        """The binder: the claim has the volume that it was given."""
        volume = await self.given(claim)
        await self.change(VOLUME_CLAIMS, name_of(claim), {"spec": {"volumeName": name_of(volume)}})
        return await self.write(VOLUME_CLAIMS, name_of(claim), {"phase": "Bound", "capacity": {"storage": "1Gi"}})

    async def binds_to_another(self, claim: Object) -> None:
        """Somebody else: the claim has a volume that happens to suit it."""
        name = f"{self.namespace}-foreign"
        reference = {"namespace": self.namespace, "name": name_of(claim), "uid": uid_of(claim)}
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": reference}
        volume = {"metadata": {"name": name}, "spec": {**spec, "hostPath": {"path": "/nowhere"}}}
        await self.client.create(VOLUMES, volume)
        await self.change(VOLUME_CLAIMS, name_of(claim), {"spec": {"volumeName": name}})
        await self.write(VOLUME_CLAIMS, name_of(claim), {"phase": "Bound", "capacity": {"storage": "1Gi"}})

    async def tells(self, claim: Object, name: str, text: str | None) -> Object:
        """The claim once it tells that."""
        return await self.until(VOLUME_CLAIMS, name_of(claim), lambda each: annotations(each).get(name) == text)

    async def nothing_left(self, claim: Object) -> None:
        """Prime and worker are gone, with a kubelet and a guard of claims in use at work."""

        async def look() -> bool:
            await self.end_pods()
            await self.let_go_of(names.prime_name(claim))
            return await self.is_gone(VOLUME_CLAIMS, names.prime_name(claim)) and await self.is_gone(
                PODS, worker_name(claim)
            )

        await eventually(look)

    async def let_go_of(self, name: str) -> None:
        """What protects claims from being deleted while a pod uses them."""
        for claim in (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]:
            used = any(name_of(claim) in str(pod["spec"]["volumes"]) for pod in await self.pods())
            if name_of(claim) == name and "deletionTimestamp" in claim["metadata"] and not used:
                await self.change(VOLUME_CLAIMS, name, {"metadata": {"finalizers": None}})

    async def discard(self, claim: Object) -> None:
        """A person deletes it, and nothing uses it."""
        await self.client.delete(VOLUME_CLAIMS, name_of(claim), self.namespace)

        async def look() -> bool:
            await self.let_go_of(name_of(claim))
            return await self.is_gone(VOLUME_CLAIMS, name_of(claim))

        await eventually(look)

    async def clear(self) -> None:
        """No transfer is left that the gate counts."""

        async def look() -> bool:
            claims = (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]
            for claim in claims:
                await self.client.delete(VOLUME_CLAIMS, name_of(claim), self.namespace)
                await self.change(VOLUME_CLAIMS, name_of(claim), {"metadata": {"finalizers": None}})
            for pod in await self.pods():
                await self.client.delete(PODS, name_of(pod), self.namespace, grace_period=0)
            return not claims and not await self.pods()

        await eventually(look)

    async def pods(self) -> list[Object]:
        return list((await self.client.list(PODS, self.namespace))["items"])


def annotations(obj: Object) -> dict[str, str]:
    return dict(obj["metadata"].get("annotations") or {})


def worker_name(claim: Object) -> str:
    return f"{names.IMPORTER_PREFIX}{names.prime_name(claim)}"


@asynccontextmanager
async def population(client: Client) -> AsyncIterator[Population]:
    """A new namespace, with nobody at work."""
    namespace = f"filling-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    made = Population(client, namespace)
    # Without it a cluster takes no pods.
    await made.until(SERVICE_ACCOUNTS, "default", bool)
    try:
        yield made
    finally:
        await made.clear()


@asynccontextmanager
async def populators(world: Population, outfit: Outfit = OF_ONE_MACHINE) -> AsyncIterator[None]:
    """The controller at work; it ends with the block as if it had been killed."""
    manager = Manager(world.client)
    Populators(manager, world.clock, outfit)
    running = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
