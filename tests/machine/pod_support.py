"""Pods for tests of the pod runner, and what is looked at of them."""

from pathlib import Path
from typing import Any

from eventual import eventually
from ingot.api.kubevirt.names import LAUNCHER_IMAGE
from ingot.api.object import Object
from ingot.api.resources import PODS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot_up import processes_with

NODE = "here"


def a_container(script: str = "sleep 60", name: str = "main", **fields: Any) -> Object:
    return {"name": name, "image": LAUNCHER_IMAGE, "command": ["sh", "-c", script], **fields}


def a_bound_pod(namespace: str, name: str, *containers: Object, **spec: Any) -> Object:
    """A pod that is on the node already, and ends at once when it is deleted."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": list(containers) or [a_container()],
            **spec,
        },
    }


async def reached(client: Client, pod: Object, phase: str) -> Object:
    """The pod once it is in that phase."""

    async def look() -> Object | None:
        found = await client.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
        return found if found.get("status", {}).get("phase") == phase else None

    found = await eventually(look)
    assert found is not None
    return found


async def gone(client: Client, pod: Object) -> bool:
    async def look() -> bool:
        try:
            found = await client.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
        except ApiError as error:
            return error.code == 404
        return bool(found["metadata"]["uid"] != pod["metadata"]["uid"])

    return await eventually(look)


async def waiting(client: Client, pod: Object, reason: str) -> str:
    """The message of the first container, once it waits for that reason."""

    async def look() -> str:
        found = await client.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
        for each in found.get("status", {}).get("containerStatuses") or ():
            if each["state"].get("waiting", {}).get("reason") == reason:
                return str(each["state"]["waiting"].get("message", reason))
        return ""

    return await eventually(look)


def directory_of(kubelet: Path, pod: Object) -> Path:
    return kubelet / "pods" / str(pod["metadata"]["uid"])


def log_of(kubelet: Path, pod: Object, container: str = "main", attempt: str = "0-0") -> str:
    return (directory_of(kubelet, pod) / "containers" / container / attempt / "log").read_text()


def processes_of(kubelet: Path) -> list[int]:
    """The processes of this machine that have something below the directory in their command line."""
    # `ingot machine` itself names the directory above it.
    return list(processes_with(f"{kubelet}/"))
