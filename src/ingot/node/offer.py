"""What this node offers, written on its Node: usage types, the agent's address, and that machines may come."""

from pathlib import Path

from ingot.api.kubevirt import usage
from ingot.api.kubevirt.names import AGENT_ADDRESS, SCHEDULABLE, is_usage_label, usage_label
from ingot.api.object import Object
from ingot.api.resources import NODES
from ingot.kube.cache import Key
from ingot.kube.change import merge_patch
from ingot.kube.client import Client
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of


class Offer:
    """Keeps labels and annotations of one Node as this agent wants them. Others' are left alone.

    The Node itself is the kubelet's: until it is there, nothing is offered.
    """

    def __init__(self, manager: Manager, node: str, locations: dict[str, Path], address: str) -> None:
        self._client: Client = manager.client
        self._locations = {name: str(path) for name, path in locations.items()}
        self._address = address
        self._nodes = manager.informer(NODES, field_selector=f"metadata.name={node}")
        manager.add(Controller("offer", self.reconcile).watch(self._nodes))

    async def reconcile(self, key: Key) -> None:
        node = self._nodes.cache.get(key)
        if node is None:
            return
        wanted = copy_of(node)
        self._write(wanted["metadata"])
        if patch := merge_patch(node, wanted):
            await self._client.patch(NODES, key.name, patch)

    def _write(self, metadata: Object) -> None:
        labels = {key: value for key, value in (metadata.get("labels") or {}).items() if not is_usage_label(key)}
        labels |= {usage_label(name): "true" for name in self._locations}
        metadata["labels"] = {**labels, SCHEDULABLE: "true"}
        annotations = metadata.get("annotations") or {}
        others = {key: value for key, value in annotations.items() if not key.startswith(usage.PREFIX)}
        metadata["annotations"] = {**others, **usage.annotations(self._locations), AGENT_ADDRESS: self._address}
