"""VirtualMachineInstance: gets a launcher pod, is handed to the node that the pod is on, and leaves nothing behind."""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.names import APP, INSTANCE_FINALIZER, LAUNCHER, NODE_FINALIZER, NODE_NAME, launcher_name
from ingot.api.kubevirt.volume_status import merged
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import INSTANCES, NODES, PODS
from ingot.api.status import ApiError
from ingot.control import progress, usages
from ingot.control.fault import InstanceFault
from ingot.control.launcher import launcher
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import REFUSED_SECONDS, is_owned, refused
from ingot.control.storage import Storage, check_sources, volumes_of
from ingot.control.writing import change, delete, live
from ingot.disks.claims import claim_name
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import (
    add_finalizer,
    condition,
    copy_of,
    has_finalizer,
    is_deleting,
    remove_finalizer,
)

# A launcher that nobody holds has nothing to finish.
_GRACE = 1

_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_USAGE_FAULT = "UsageTypeNotOffered"


def _claims_of(instance: Object) -> Iterable[str]:
    return [f"{namespace_of(instance)}/{name}" for each in volumes_of(instance) if (name := claim_name(each))]


def _node_of(instance: Object) -> Iterable[str]:
    return [node] if (node := (instance.get("status") or {}).get("nodeName")) else []


def _fault_of(instance: Object) -> Iterable[str]:
    return [str((condition(instance, progress.SYNCHRONIZED) or {}).get("reason", ""))]


class Instances:
    """The controller. It writes phases up to Scheduled; the node's agent, holder of NODE_FINALIZER, the later ones."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self._client = manager.client
        self._outfit = outfit
        self._clock = clock
        self._events = Recorder(manager.client, "virtualmachineinstance-controller")
        self._storage = Storage(manager)
        self._instances = manager.informer(INSTANCES)
        self._pods = manager.informer(PODS, label_selector=f"{APP}={LAUNCHER}")
        self._nodes = manager.informer(NODES)
        cache = self._instances.cache
        for name, indexer in (("claim", _claims_of), ("node", _node_of), ("fault", _fault_of)):
            cache.add_index(name, indexer)
        manager.serve(self._events.run)
        manager.add(
            Controller("instance", self.reconcile, workers=8, clock=clock)
            .watch(self._instances)
            .own(self._pods, owner=INSTANCES)
            .watch(self._nodes, self._on_node)
            .watch(self._storage.claims, self._on_claim)
            .watch(self._storage.data_volumes, self._on_claim)
            .watch(self._storage.volumes, self._on_volume)
            .watch(self._storage.setbacks.events, self._on_event)
            .watch(self._storage.classes, lambda _: self._by("fault", "ClaimNotBound"))
        )

    def _by(self, index: str, value: str) -> list[Key]:
        return [key_of(instance) for instance in self._instances.cache.by_index(index, value)]

    def _on_node(self, node: Object) -> list[Key]:
        return [*self._by("node", name_of(node)), *self._by("fault", _USAGE_FAULT)]

    def _on_claim(self, claim: Object) -> list[Key]:
        return self._by("claim", f"{namespace_of(claim)}/{name_of(claim)}")

    def _on_volume(self, volume: Object) -> list[Key]:
        holder = volume["spec"].get("claimRef") or {}
        return self._by("claim", f"{holder.get('namespace')}/{holder.get('name')}")

    def _on_event(self, event: Object) -> list[Key]:
        claim = event["involvedObject"]
        return self._by("claim", f"{claim.get('namespace')}/{claim.get('name')}")

    async def reconcile(self, key: Key) -> Result | None:
        instance = self._instances.cache.get(key)
        if instance is None:
            return None
        pod = self._pods.cache.get(Key(key.namespace, launcher_name(instance)))
        if why := await self._gone(instance, pod):
            await self._give_up(instance, pod, why)
        elif is_deleting(instance):
            await self._end(instance)
        else:
            return await self._live(instance, pod)
        return None

    async def _live(self, instance: Object, pod: Object | None) -> Result | None:
        if not has_finalizer(instance, INSTANCE_FINALIZER):
            instance = await change(
                self._client, INSTANCES, instance, lambda each: add_finalizer(each, INSTANCE_FINALIZER)
            )
        if phase.phase_of(instance) in phase.EARLY:
            return await self._launch(instance, pod)
        if phase.is_final(instance):
            await self._tidy(instance, pod)
        else:
            await self._look_after(instance, pod)
        return None

    async def _launch(self, instance: Object, pod: Object | None) -> Result | None:
        fault = None
        try:
            pod = pod or await self._launched(instance)
            # The pod is there all the same: it is placed as soon as a node and the volumes have what it wants.
            self._check_usages(instance)
            self._storage.check_progress(instance)
        except InstanceFault as found:
            fault = found
        told = copy_of(instance)
        progress.launching(told, pod, fault, self._clock.time())
        self._write_volumes(told)
        if told["status"]["phase"] == phase.SCHEDULED:
            instance = await self._label(instance, told["status"]["nodeName"])
        await self._tell(instance, told)
        return Result(fault.retry) if fault and fault.retry else None

    async def _launched(self, instance: Object) -> Object | None:
        """The pod that the cache does not have: one that came just now, a new one, or None if there was one before."""
        if phase.phase_of(instance) == phase.SCHEDULING:
            return await live(self._client, PODS, launcher_name(instance), namespace_of(instance))
        check_sources(instance)
        pod = launcher(instance, self._storage.mounted(instance), self._outfit)
        try:
            created = await self._client.create(PODS, pod)
        except ApiError as error:
            return await self._not_created(instance, error)
        self._events.record(instance, "SuccessfulCreate", f"Created virtual machine pod {name_of(pod)}")
        return created

    async def _not_created(self, instance: Object, error: ApiError) -> Object | None:
        """The pod that is there already, if it is ours. Raises InstanceFault where the server refuses a pod."""
        if error.reason == "AlreadyExists":
            found = await live(self._client, PODS, launcher_name(instance), namespace_of(instance))
            if found is None or is_owned(found, instance):
                return found
            message = (
                f'pod "{name_of(found)}" is not this machine\'s, but has its name: delete it, and the machine starts'
            )
            raise InstanceFault("FailedCreate", message, REFUSED_SECONDS) from error
        raise refused("the launcher pod", error) from error

    def _check_usages(self, instance: Object) -> None:
        if message := usages.missing(instance["spec"], self._nodes.cache.list()):
            raise InstanceFault(_USAGE_FAULT, message)

    async def _look_after(self, instance: Object, pod: Object | None) -> None:
        """An instance that its node has been told of: what the node cannot say of it."""
        told = copy_of(instance)
        held = has_finalizer(instance, NODE_FINALIZER)
        if pod is None and not held:
            pod = await live(self._client, PODS, launcher_name(instance), namespace_of(instance))
        if not held and progress.is_lost(pod):
            progress.failed(told, "LauncherLost", progress.why_lost(pod), self._clock.time())
        node = self._nodes.cache.get(Key("", instance["status"].get("nodeName", "")))
        if node is not None and phase.phase_of(told) == phase.RUNNING:
            progress.note_node(told, node, self._clock.time())
        self._write_volumes(told)
        await self._tell(instance, told)

    async def _tidy(self, instance: Object, pod: Object | None) -> None:
        """The guest has ended: its launcher goes too, once the node has let go of it."""
        if pod and not progress.is_lost(pod) and not has_finalizer(instance, NODE_FINALIZER):
            await self._delete(instance, pod, _GRACE)

    async def _end(self, instance: Object) -> None:
        """The instance is being deleted: its node lets go first, then its pod goes, then it."""
        if has_finalizer(instance, NODE_FINALIZER):
            return
        pod = await live(self._client, PODS, launcher_name(instance), namespace_of(instance))
        if pod is not None and is_owned(pod, instance):
            if not is_deleting(pod):
                await self._delete(instance, pod, _GRACE)
            return
        await change(self._client, INSTANCES, instance, lambda each: remove_finalizer(each, INSTANCE_FINALIZER))

    async def _gone(self, instance: Object, pod: Object | None) -> str:
        """Why the instance's node is certainly gone, with all that ran on it; "" while that is not certain."""
        name = (instance.get("status") or {}).get("nodeName") or ((pod or {}).get("spec") or {}).get("nodeName")
        if not name or not (pod or has_finalizer(instance, NODE_FINALIZER)):
            return ""
        node = self._nodes.cache.get(Key("", name)) or await live(self._client, NODES, name)
        if node is None:
            return f'node "{name}" was deleted'
        taints = node["spec"].get("taints") or ()
        return f'node "{name}" is out of service' if any(each["key"] == _OUT_OF_SERVICE for each in taints) else ""

    async def _give_up(self, instance: Object, pod: Object | None, why: str) -> None:
        """Nobody is left on the node to say that the guest has ended."""
        told = copy_of(instance)
        progress.failed(told, "NodeGone", f"{why}, and the guest with it", self._clock.time())
        told = await self._tell(instance, told)
        if pod is not None:
            await self._delete(instance, pod, 0)
        await change(self._client, INSTANCES, told, lambda each: remove_finalizer(each, NODE_FINALIZER))

    async def _delete(self, instance: Object, pod: Object, grace: int) -> None:
        if await delete(self._client, PODS, pod, grace_period=grace):
            self._events.record(instance, "SuccessfulDelete", f"Deleted virtual machine pod {name_of(pod)}")

    def _write_volumes(self, instance: Object) -> None:
        status = instance["status"]
        if updates := list(self._storage.statuses(instance)):
            status["volumeStatus"] = merged(status.get("volumeStatus") or (), updates)

    async def _label(self, instance: Object, node: str) -> Object:
        """The instance with the label that its node's agent finds it by."""

        def mark(each: Object) -> None:
            each["metadata"].setdefault("labels", {})[NODE_NAME] = node

        return await change(self._client, INSTANCES, instance, mark)

    async def _tell(self, instance: Object, told: Object) -> Object:
        """Write the status, and an event where something new stands in the way."""
        before, after = condition(instance, progress.SYNCHRONIZED), condition(told, progress.SYNCHRONIZED)
        written = await patch_status(self._client, INSTANCES, instance, told)
        if after and after["status"] == "False" and (before or {}).get("message") != after["message"]:
            self._events.record(instance, after["reason"], after["message"], "Warning")
        return written
