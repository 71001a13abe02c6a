"""Puts pods on nodes, as kube-scheduler does, for a machine or a few.

Honoured: node selectors and required or preferred node affinity, taints, requests of any resource, ports of the node,
required affinity and anti-affinity between pods, and volumes. Not honoured: topology spread constraints, preferred
affinity between pods, dynamic resource claims, and priorities, which would put other pods off a node.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.pod_claims import claims_of
from ingot.api.resources import NAMESPACES, NODES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.kube.cache import Key, key_of
from ingot.kube.client import Patch
from ingot.kube.clock import SYSTEM, Clock, timestamp
from ingot.kube.controller import Controller
from ingot.kube.events import Recorder
from ingot.kube.limits import Backoff
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_deleting
from ingot.standalone.scheduler.filters import FILTERS
from ingot.standalone.scheduler.ledger import ENDED, Ledger
from ingot.standalone.scheduler.neighbours import Neighbours, wants_neighbours
from ingot.standalone.scheduler.refusal import Refusal, Unschedulable, on_each_node
from ingot.standalone.scheduler.scores import best
from ingot.standalone.scheduler.storage import Behind, Claims, Storage

NAME = "default-scheduler"
# A pod that fits nowhere is looked at again when something changes, but not more often than this.
_BASE_SECONDS = 0.05
_CAP_SECONDS = 10.0
_WORKERS = 4


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A pod that something must change for: not before `due`."""

    claims: frozenset[str]
    neighbours: bool
    due: float


class Scheduler:
    """Binds every pod that names no node and this scheduler."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self.client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, NAME, clock=clock)
        self._ledger = Ledger()
        self._backoff: Backoff[Key] = Backoff(_BASE_SECONDS, _CAP_SECONDS)
        self._waiting: dict[Key, _Waiting] = {}
        # Pods that were bound but that the cache does not show as bound yet.
        self._bound: set[str] = set()
        self._pods = manager.informer(PODS)
        self._nodes = manager.informer(NODES)
        claims, volumes = manager.informer(VOLUME_CLAIMS), manager.informer(VOLUMES)
        classes, namespaces = manager.informer(STORAGE_CLASSES), manager.informer(NAMESPACES)
        self._storage = Storage(self.client, claims.cache, volumes.cache, classes.cache)
        self._neighbours = Neighbours(self._ledger, self._nodes.cache, namespaces.cache)
        self._pods.add_handler(self._pod_changed)
        self._nodes.add_handler(self._node_changed)
        claims.add_handler(self._claim_changed)
        for informer in (volumes, classes):
            informer.add_handler(self._storage_changed)
        self._controller = Controller("scheduler", self.reconcile, workers=_WORKERS, clock=clock)
        self._controller.watch(self._pods, lambda pod: [key_of(pod)] if _is_ours(pod) else [])
        for informer in (self._nodes, claims, volumes, classes, namespaces):
            # Their handlers wake pods; here they are only waited for, so that no decision is made on half a cache.
            self._controller.watch(informer, lambda _: ())
        manager.serve(self._events.run)
        manager.add(self._controller)

    async def reconcile(self, key: Key) -> None:
        """Bind the pod, or say why not. Nothing is awaited between looking at what is free and taking it."""
        pod = self._pods.cache.get(key)
        self._waiting.pop(key, None)
        if pod is None or not _is_ours(pod):
            self._backoff.succeeded(key)
            return
        if uid_of(pod) in self._bound:
            return
        self._ledger.remove(pod)
        try:
            claims = self._storage.claims(pod, self._ledger, len(self._nodes.cache))
            node = self._choose(pod, claims)
        except Behind:
            self._wait(key, pod, 0.0)
            return
        except Unschedulable as refusal:
            self._wait(key, pod, self._backoff.failed(key))
            await self._refused(pod, str(refusal))
            return
        self._ledger.place(pod, name_of(node))
        try:
            await self._settle(key, pod, claims, node)
        except BaseException:
            self._ledger.remove(pod)
            raise

    async def _settle(self, key: Key, pod: Object, claims: Claims, node: Object) -> None:
        """Bind the pod to the node that was chosen, once its volumes are there."""
        if claims.waiting:
            self._wait(key, pod, 0.0)
            await self._storage.begin(claims, node)
            return
        await self._bind(pod, name_of(node))
        self._backoff.succeeded(key)

    def _choose(self, pod: Object, claims: Claims) -> Object:
        """The best node that takes the pod. Raises Unschedulable."""
        refusals, fit = [], []
        for node in self._nodes.cache.list():
            refusal = self._refusal(pod, claims, node)
            if refusal:
                refusals.append(refusal)
            else:
                fit.append(node)
        if not fit:
            raise on_each_node(refusals)
        return best(pod, fit, self._ledger)

    def _refusal(self, pod: Object, claims: Claims, node: Object) -> Refusal | None:
        for filter in FILTERS:
            if refusal := filter(pod, node, self._ledger):
                return refusal
        return self._storage.refusal(claims, node) or self._neighbours.refusal(pod, node)

    async def _bind(self, pod: Object, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name_of(pod), "namespace": namespace_of(pod), "uid": uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._bound.add(uid_of(pod))
        try:
            await self.client.create(PODS, binding, name=name_of(pod), subresource="binding")
        except BaseException:
            self._bound.discard(uid_of(pod))
            raise
        self._events.record(pod, "Scheduled", f"Successfully assigned {key_of(pod)} to {node}")

    async def _refused(self, pod: Object, message: str) -> None:
        """Write down why the pod is on no node, once for each reason."""
        known = condition(pod, "PodScheduled") or {}
        if (known.get("status"), known.get("reason"), known.get("message")) == ("False", "Unschedulable", message):
            return
        self._events.record(pod, "FailedScheduling", message, "Warning")
        since = known.get("lastTransitionTime") if known.get("status") == "False" else None
        entry = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": since or timestamp(self._clock.time()),
        }
        change = {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": [entry]}}
        where = namespace_of(pod)
        await self.client.patch(PODS, name_of(pod), change, where, kind=Patch.STRATEGIC, subresource="status")

    def _wait(self, key: Key, pod: Object, seconds: float) -> None:
        due = self._clock.monotonic() + seconds
        self._waiting[key] = _Waiting(frozenset(claims_of(pod)), wants_neighbours(pod), due)

    def _wake(self, keys: Iterable[Key]) -> None:
        now = self._clock.monotonic()
        for key in list(keys):
            self._controller.queue.add_after(key, self._waiting[key].due - now)

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        """Keep the ledger; a pod that is gone leaves room for others, one that came may be whom others look for."""
        if new and new["spec"].get("nodeName") and new.get("status", {}).get("phase") not in ENDED:
            self._bound.discard(uid_of(new))
            self._ledger.place(new, new["spec"]["nodeName"])
            if not (old and old["spec"].get("nodeName")):
                self._wake(key for key, waiting in self._waiting.items() if waiting.neighbours)
        elif new is None or new["spec"].get("nodeName"):
            gone = new or old or {}
            self._bound.discard(uid_of(gone))
            if self._ledger.remove(gone):
                self._wake(self._waiting)

    def _node_changed(self, old: Object | None, new: Object | None) -> None:
        if old is None or new is None or _offer(old) != _offer(new):
            self._wake(self._waiting)

    def _claim_changed(self, old: Object | None, new: Object | None) -> None:
        claim = key_of(new or old or {})
        self._wake(
            key
            for key, waiting in self._waiting.items()
            if key.namespace == claim.namespace and claim.name in waiting.claims
        )

    def _storage_changed(self, _: Object | None, __: Object | None) -> None:
        self._wake(key for key, waiting in self._waiting.items() if waiting.claims)


def _is_ours(pod: Object) -> bool:
    spec = pod["spec"]
    if spec.get("nodeName") or spec.get("schedulerName", NAME) != NAME or spec.get("schedulingGates"):
        return False
    return not is_deleting(pod) and pod.get("status", {}).get("phase") not in ENDED


def _offer(node: Object) -> tuple[object, ...]:
    """What decides on pods: not the node's heartbeats."""
    status = node.get("status", {})
    return node["metadata"].get("labels"), node.get("spec"), status.get("allocatable"), status.get("capacity")
