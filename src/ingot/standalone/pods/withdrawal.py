"""What a node offers to machines is taken back while its agent does not run: nobody is there to keep the promise."""

from ingot.api.kubevirt import usage
from ingot.api.kubevirt.names import SCHEDULABLE, is_usage_label
from ingot.api.object import Object
from ingot.api.resources import NODES
from ingot.kube.change import merge_patch
from ingot.kube.client import Client
from ingot.kube.objects import copy_of


def without_offer(node: Object) -> Object:
    """The node without usage types, and closed to machines. The agent writes both again when it is back."""
    wanted = copy_of(node)
    metadata = wanted["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    for key in [key for key in labels if is_usage_label(key)]:
        del labels[key]
    for key in [key for key in annotations if key.startswith(usage.PREFIX)]:
        del annotations[key]
    if SCHEDULABLE in labels:
        labels[SCHEDULABLE] = "false"
    return wanted


async def withdraw(client: Client, name: str) -> bool:
    """Closes the node to machines; whether it was open. Those that run there run on. Raises ApiError."""
    node = await client.get(NODES, name)
    patch = merge_patch(node, without_offer(node))
    if patch:
        await client.patch(NODES, name, patch)
    return bool(patch)
