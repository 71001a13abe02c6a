"""A node whose agent does not run offers nothing to machines."""

import json
import time
from pathlib import Path

from ingot.api.object import Object
from ingot.api.resources import NODES
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.standalone.children import down_seconds
from ingot.standalone.pods.node import Node
from ingot.standalone.pods.withdrawal import without_offer
from ingot.standalone.server import Server

LABELS = {"kubevirt.io/schedulable": "true", "usage-type.ingot.io/fast": "true", "zone": "a"}
ANNOTATIONS = {"kubevirt.io/storage.usage-type.fast": "/mnt/nvme", "ingot.io/agent-address": "unix:///agent.sock"}


def test_what_is_offered_goes_and_all_else_stays() -> None:
    node: Object = {"metadata": {"name": "here", "labels": LABELS, "annotations": ANNOTATIONS}}
    closed = without_offer(node)["metadata"]
    assert closed["labels"] == {"kubevirt.io/schedulable": "false", "zone": "a"}
    assert closed["annotations"] == {"ingot.io/agent-address": "unix:///agent.sock"}
    assert without_offer({"metadata": closed})["metadata"] == closed
    assert without_offer({"metadata": {"name": "new"}}) == {"metadata": {"name": "new"}}


def write(directory: Path, state: str, since: float) -> None:
    told = {"state": state, "pid": 0, "born": 0, "since": since, "restarts": 1}
    (directory / "agent.json").write_text(json.dumps(told))


def test_how_long_a_child_has_been_down(tmp_path: Path) -> None:
    assert down_seconds(tmp_path, "agent") == 0
    write(tmp_path, "Running", time.time() - 60)
    assert down_seconds(tmp_path, "agent") < 1
    write(tmp_path, "Restarting", time.time() - 60)
    assert down_seconds(tmp_path, "agent") >= 60


async def test_the_node_is_closed_while_its_agent_is_down(tmp_path: Path) -> None:
    server = Server(tmp_path, "127.0.0.1", 0)
    await server.start()
    try:
        async with Client.connect(load(tmp_path / "kubeconfig")) as client:
            await client.create(NODES, {"metadata": {"name": "here", "labels": LABELS, "annotations": ANNOTATIONS}})
            node = Node(client, "here", tmp_path)
            write(tmp_path, "Restarting", time.time())
            await node.beat()
            assert (await client.get(NODES, "here"))["metadata"]["labels"]["kubevirt.io/schedulable"] == "true"
            write(tmp_path, "NeedsMending", time.time() - 5)
            await node.beat()
            assert (await client.get(NODES, "here"))["metadata"]["labels"]["kubevirt.io/schedulable"] == "false"
    finally:
        await server.stop()
