"""Whether copies of this node's volumes share blocks with their originals, told on the node."""

from ingot.api.cdi.names import SHARES_BLOCKS
from ingot.api.object import Object, name_of
from ingot.api.resources import NODES
from ingot.kube.cache import Key
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.words import annotation


class Sharing:
    """Keeps the node's annotation: whoever chooses how to clone reads it there."""

    def __init__(self, manager: Manager, node_name: str, local: LocalVolumes) -> None:
        self._client = manager.client
        self._node_name = node_name
        self._local = local
        self._nodes = manager.informer(NODES)
        manager.add(Controller("shares-blocks", self.reconcile).watch(self._nodes, self._ours))

    def _ours(self, node: Object) -> list[Key]:
        return [Key("", self._node_name)] if name_of(node) == self._node_name else []

    async def reconcile(self, key: Key) -> None:
        node = self._nodes.cache.get(key)
        told = "true" if self._local.shares_blocks else "false"
        if node is not None and annotation(node, SHARES_BLOCKS) != told:
            await self._client.patch(NODES, key.name, {"metadata": {"annotations": {SHARES_BLOCKS: told}}})
