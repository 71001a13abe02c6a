"""Nodes: the taint that keeps pods away until a node says that it is ready, and while it says that it is not."""

from ingot.api.object import Object
from ingot.standalone.builtin.admission import NOT_READY
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.world import World
from ingot.standalone.store.history import Change

KEY = "nodes"


class Nodes(Worker[str]):
    """Puts the taint on nodes that are not ready, and takes it off those that are."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self._world = world
        self._inside = Inside(world, "kube-controller-manager")
        for entry in world.store.collection(KEY):
            self.queue.add(entry.name)

    def on_change(self, change: Change) -> None:
        if change.resource == KEY and change.new:
            self.queue.add(change.entry.name)

    async def work(self, name: str) -> None:
        definition = self._world.catalog.known(KEY)
        node = self._inside.read(definition, "", name)
        if node is not None and _settled(node) != node:
            await self._inside.change(definition, "", name, _settled)


def _settled(node: Object) -> Object:
    """The node with the taint that its Ready condition asks for; as it is where it has no such condition."""
    ready = [each["status"] for each in node["status"].get("conditions") or () if each["type"] == "Ready"]
    taints = node["spec"].get("taints") or []
    others = [taint for taint in taints if (taint["key"], taint["effect"]) != tuple(NOT_READY.values())]
    if not ready:
        return node
    wanted = others if ready[-1] == "True" else taints if len(others) < len(taints) else [*taints, NOT_READY]
    spec = {key: value for key, value in node["spec"].items() if key != "taints"}
    return {**node, "spec": {**spec, "taints": wanted} if wanted else spec}
