"""The way to the agent that holds an instance: the address that its Node carries."""

from pathlib import Path

from ingot.api.kubevirt import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import NODES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.tunnel import Behind

LOCAL = "unix://"


async def agent_of(client: Client, instance: Object) -> Behind:
    """The agent of the instance's node. Raises 503 when there is no way to it, which says why."""
    who = f"{namespace_of(instance)}/{name_of(instance)}"
    node_name = instance.get("status", {}).get("nodeName", "")
    if not node_name:
        raise unavailable(f"{who} is on no node yet; try again when it runs")
    try:
        node = await client.get(NODES, node_name)
    except ApiError as error:
        if error.code != 404:
            raise
        raise unavailable(f"{who} is on node {node_name}, which is gone") from error
    address = (node["metadata"].get("annotations") or {}).get(names.AGENT_ADDRESS, "")
    if not address:
        why = f"node {node_name} has no annotation {names.AGENT_ADDRESS}: its agent has not started; see `ingot status`"
        raise unavailable(f"{who}: {why}")
    if not address.startswith(LOCAL):
        why = f"the agent of node {node_name} is at {address}, and only agents of this machine can be reached"
        raise unavailable(f"{who}: {why}")

    def missing(detail: str) -> ApiError:
        return unavailable(f"{who}: the agent of node {node_name} does not answer ({detail}); it is started again soon")

    return Behind(Path(address.removeprefix(LOCAL)), missing)


def agent_path(instance: Object, act: str) -> str:
    return f"/v1/namespaces/{namespace_of(instance)}/virtualmachineinstances/{name_of(instance)}/{act}"


def unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)
