"""The other side of the wire: a kubelet and a node's agent that do what a test tells them, in one namespace."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from uuid import uuid4

from eventual import eventually
from ingot.api.cdi.names import FILLED_FOR
from ingot.api.kubevirt import phase
from ingot.api.kubevirt.names import NODE_FINALIZER, SCHEDULABLE, launcher_name, usage_label
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import EVENTS, INSTANCES, MACHINES, NODES, PODS, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock
from ingot.kube.objects import condition, remove_finalizer, set_condition

T = TypeVar("T")
NOW = 1_700_000_000.0
PROTECTED = "kubernetes.io/pvc-protection"


class World:
    """`far` is the one node; `clock` is the controllers' own."""

    def __init__(self, client: Client, namespace: str, clock: ManualClock) -> None:
        self.client = client
        self.namespace = namespace
        self.clock = clock
        self.far = f"far-{namespace}"

    async def create(self, resource: Resource, obj: Object) -> Object:
        metadata = {**obj["metadata"], "namespace": self.namespace}
        told = {"apiVersion": resource.api_version, "kind": resource.kind}
        return await self.client.create(resource, {**told, **obj, "metadata": metadata})

    async def get(self, resource: Resource, name: str) -> Object:
        return await self.client.get(resource, name, self.namespace)

    async def is_gone(self, resource: Resource, name: str) -> bool:
        listed = await self.client.list(resource, self.namespace, field_selector=f"metadata.name={name}")
        return not listed["items"]

    async def until(self, resource: Resource, name: str, holds: Callable[[Object], object]) -> Object:
        """The object once that holds."""
        seen: Object = {}

        async def look() -> bool:
            nonlocal seen
            seen = await self.get(resource, name)
            return bool(holds(seen))

        try:
            await eventually(look)
        except AssertionError:
            raise AssertionError(f"it never came to be: {seen}") from None
        return seen

    async def gone(self, resource: Resource, name: str) -> None:
        await eventually(lambda: self.is_gone(resource, name))

    async def printed(self, name: str, word: str) -> Object:
        """The machine once its printable status is that."""
        return await self.until(
            MACHINES, name, lambda machine: (machine.get("status") or {}).get("printableStatus") == word
        )

    async def reaches(self, name: str, wanted: str) -> Object:
        return await self.until(INSTANCES, name, lambda instance: phase.phase_of(instance) == wanted)

    async def refused(self, name: str, reason: str) -> Object:
        """The condition of an instance once it says why that is not synchronized."""

        def told(instance: Object) -> bool:
            return (condition(instance, "Synchronized") or {}).get("reason") == reason

        found = condition(await self.until(INSTANCES, name, told), "Synchronized")
        assert found is not None
        assert found["status"] == "False"
        return found

    async def reasons(self, name: str) -> set[str]:
        listed = await self.client.list(EVENTS, self.namespace, field_selector=f"involvedObject.name={name}")
        return {event["reason"] for event in listed["items"]}

    async def messages(self, name: str, reason: str) -> list[str]:
        """What the events of an object with that reason say."""
        listed = await self.client.list(EVENTS, self.namespace, field_selector=f"involvedObject.name={name}")
        return [event["message"] for event in listed["items"] if event["reason"] == reason]

    async def heard(self, name: str, reason: str) -> None:
        async def look() -> bool:
            return reason in await self.reasons(name)

        await eventually(look)

    async def pod_of(self, name: str) -> Object:
        """The launcher pod of an instance."""

        async def look() -> Object:
            return await self.get(PODS, launcher_name(await self.get(INSTANCES, name)))

        return await eventually(look)

    async def node(self, name: str, *usages: str) -> Object:
        labels = {SCHEDULABLE: "true", **{usage_label(usage): "true" for usage in ("default", *usages)}}
        return await self.client.create(NODES, {"metadata": {"name": name, "labels": labels}})

    async def ready_node(self, ready: Object) -> Object:
        """The cluster: that is what is known of the node."""
        return await self.client.patch(NODES, self.far, {"status": {"conditions": [ready]}}, subresource="status")

    async def run_pod(self, name: str) -> Object:
        """The scheduler and the kubelet: the launcher of an instance is placed and runs."""
        pod = await self.pod_of(name)
        binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": self.far}}
        binding["metadata"] = {"name": pod["metadata"]["name"], "namespace": self.namespace}
        await self.client.create(PODS, binding, name=pod["metadata"]["name"], subresource="binding")
        return await self.pod_status(pod, phase="Running", ready=True)

    async def pod_status(self, pod: Object, *, phase: str, ready: bool = False, **more: Any) -> Object:
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}], **more}
        name = pod["metadata"]["name"]
        return await self.client.patch(PODS, name, {"status": status}, self.namespace, subresource="status")

    async def take(self, name: str) -> Object:
        """The agent: holds the instance that it was handed."""
        await self.reaches(name, phase.SCHEDULED)

        async def hold() -> Object:
            instance = await self.get(INSTANCES, name)
            instance["metadata"]["finalizers"].append(NODE_FINALIZER)
            return await self.client.replace(INSTANCES, instance)

        return await eventually(hold)

    async def report(self, name: str, wanted: str, ready: bool = False) -> Object:
        """The agent: the guest is in that phase."""

        async def write() -> Object:
            instance = await self.get(INSTANCES, name)
            phase.enter(instance, wanted, "2023-11-14T22:13:20Z")
            set_condition(instance, "Ready", ready, "GuestRunning" if ready else "GuestNotRunning", "", NOW)
            return await self.client.replace(INSTANCES, instance, subresource="status")

        return await eventually(write)

    async def let_go(self, name: str) -> None:
        """The agent: nothing of the instance is left on the node, and its launcher has ended."""

        async def release() -> Object:
            instance = await self.get(INSTANCES, name)
            remove_finalizer(instance, NODE_FINALIZER)
            return await self.client.replace(INSTANCES, instance)

        await eventually(release)

    async def run(self, name: str) -> Object:
        """All of it, until the guest runs."""
        await self.run_pod(name)
        await self.take(name)
        await self.report(name, phase.RUNNING, ready=True)
        return await self.get(INSTANCES, name)

    async def end(self, name: str, wanted: str = phase.SUCCEEDED) -> None:
        """The guest has ended, by itself or because it was told to."""
        await self.report(name, wanted)
        await self.let_go(name)

    async def successor(self, name: str, former: Object) -> Object:
        """The instance that came after another one, with a kubelet at work."""

        async def look() -> Object | None:
            await self.end_pods()
            found = await self.get(INSTANCES, name)
            return found if uid_of(found) != uid_of(former) else None

        found = await eventually(look)
        assert found is not None
        return found

    async def change(self, resource: Resource, name: str, patch: Object) -> Object:
        return await self.client.patch(resource, name, patch, self.namespace)

    async def write(self, resource: Resource, name: str, status: Object) -> Object:
        """Somebody else's controller: that is how things are."""
        return await self.client.patch(resource, name, {"status": status}, self.namespace, subresource="status")

    async def ask(self, name: str, *requests: Object) -> Object:
        """The subresources: start and stop."""
        return await self.write(MACHINES, name, {"stateChangeRequests": list(requests)})

    async def quiet(self, name: str) -> None:
        """The controllers have seen all there is: they answer to a change that is made now."""
        mark = uuid4().hex
        await self.create(MACHINES, machine(f"{name}-{mark[:6]}", "Halted"))
        await self.printed(f"{name}-{mark[:6]}", "Stopped")

    async def bind(self, claim: str, **source: Object) -> Object:
        """The volume binder: the claim has a volume, of this kind."""
        found = await self.get(VOLUME_CLAIMS, claim)
        volume = f"{self.namespace}-{claim}"
        reference = {"namespace": self.namespace, "name": claim, "uid": uid_of(found)}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": found["spec"]["accessModes"],
            "volumeMode": found["spec"]["volumeMode"],
            "claimRef": reference,
            **(source or {"hostPath": {"path": "/nowhere"}}),
        }
        # As one whose content was put there for this claim.
        metadata = {"name": volume, "annotations": {FILLED_FOR: uid_of(found)}}
        await self.client.create(VOLUMES, {"metadata": metadata, "spec": spec})
        await self.change(VOLUME_CLAIMS, claim, {"spec": {"volumeName": volume}})
        return await self.write(VOLUME_CLAIMS, claim, {"phase": "Bound", "capacity": {"storage": "1Gi"}})

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def end_pods(self) -> None:
        """The kubelet: what is to go has gone."""
        for pod in (await self.client.list(PODS, self.namespace))["items"]:
            if pod["metadata"].get("deletionTimestamp"):
                await self.client.delete(PODS, pod["metadata"]["name"], self.namespace, grace_period=0)

    async def end_claims(self) -> None:
        """The cluster: nothing uses a claim that is to go, so that it goes."""
        for claim in (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]:
            metadata = claim["metadata"]
            if metadata.get("deletionTimestamp") and PROTECTED in metadata.get("finalizers", ()):
                # Servers that look after this themselves may have been quicker.
                patch = {"metadata": {"uid": metadata["uid"], "finalizers": None}}
                with suppress(ApiError):
                    await self.change(VOLUME_CLAIMS, metadata["name"], patch)

    async def delete_claim(self, name: str) -> None:
        """Somebody deletes a claim that nothing uses."""
        await self.client.delete(VOLUME_CLAIMS, name, self.namespace)
        await self.end_claims()

    async def gone_with_pod(self, resource: Resource, name: str) -> None:
        """The object has gone, with a kubelet at work."""

        async def look() -> bool:
            await self.end_pods()
            return await self.is_gone(resource, name)

        await eventually(look)


def instance(name: str, *volumes: Object, **spec: Any) -> Object:
    domain = {"memory": {"guest": "64Mi"}, "devices": {"autoattachPodInterface": False}}
    given = {"volumes": list(volumes)} if volumes else {}
    return {"metadata": {"name": name}, "spec": {"domain": domain, **given, **spec}}


def machine(name: str, strategy: str, *volumes: Object, **spec: Any) -> Object:
    template = {"spec": instance(name, *volumes)["spec"]}
    return {"metadata": {"name": name}, "spec": {"runStrategy": strategy, "template": template, **spec}}


def shown(machine: Object) -> Object:
    """The machine, whose guest has a disk of every volume."""
    spec = machine["spec"]["template"]["spec"]
    spec["domain"]["devices"]["disks"] = [{"name": each["name"], "disk": {"bus": "virtio"}} for each in spec["volumes"]]
    return machine
