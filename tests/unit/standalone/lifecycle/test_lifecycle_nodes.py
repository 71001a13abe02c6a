"""A node's taint follows what the node says of itself."""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.builtin.admission import NOT_READY
from ingot.standalone.lifecycle.nodes import Nodes

Scene = Any
OTHER = {"key": "mine", "effect": "NoExecute"}


def taints(scene: Scene) -> list[Object]:
    found: list[Object] = scene.read("nodes", "", "one")["spec"].get("taints", [])
    return found


async def test_the_taint_goes_when_the_node_is_ready_and_comes_back_when_it_is_not(scene: Scene) -> None:
    nodes = Nodes(scene.world)
    nodes.start()
    await scene.create("nodes", {"metadata": {"name": "one"}, "spec": {"taints": [OTHER]}})
    await nodes.work("one")
    assert taints(scene) == [OTHER, NOT_READY]
    for status, expected in (("True", [OTHER]), ("False", [OTHER, NOT_READY]), ("True", [OTHER])):
        conditions = [{"type": "Ready", "status": status}]
        await scene.patch("nodes", "", "one", "status", status={"conditions": conditions})
        await scene.until(lambda expected=expected: taints(scene) == expected)
    await nodes.stop()
