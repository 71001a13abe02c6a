"""Growing a volume after its claim."""

import asyncio

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.standalone.scheduler.amounts import size_of
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.manifest import is_block
from ingot.standalone.volumes.match import capacity_of, request_of
from ingot.standalone.volumes.words import is_bound, phase_of


class Resize:
    """File, volume, claim, in that order: whoever reads a size finds at least that much."""

    def __init__(self, client: Client, local: LocalVolumes, events: Recorder) -> None:
        self._client = client
        self._local = local
        self._events = events

    async def follow(self, claim: Object, volume: Object) -> None:
        """Make volume and claim as large as the claim asks for, if that is more than they are."""
        if not is_bound(claim) or phase_of(claim) != "Bound" or claim["spec"]["volumeName"] != name_of(volume):
            return
        asked, has = request_of(claim), capacity_of(volume)
        shown = size_of((claim["status"].get("capacity") or {}).get("storage", "0"))
        if asked <= has and shown >= asked:
            return
        whole = self._local.capacity()
        if asked > whole:
            why = (
                f"spec.resources.requests.storage asks for {asked} bytes, but the filesystem of "
                f"{self._local.directory} holds {whole} in all: ask for less"
            )
            self._events.record(claim, "VolumeResizeFailed", why, "Warning")
            return
        text = claim["spec"]["resources"]["requests"]["storage"]
        await asyncio.to_thread(self._local.grow, name_of(volume), is_block(volume), asked)
        if asked > has:
            change = {"metadata": _version(volume), "spec": {"capacity": {"storage": text}}}
            await self._client.patch(VOLUMES, name_of(volume), change)
        status: Object = {"capacity": {"storage": text}, "conditions": _others(claim)}
        change = {"metadata": _version(claim), "status": status}
        await self._client.patch(VOLUME_CLAIMS, name_of(claim), change, namespace_of(claim), subresource="status")
        self._events.record(claim, "VolumeResizeSuccessful", "Resize volume succeeded")


def _others(claim: Object) -> list[Object] | None:
    """The claim's conditions but those that a growth puts there; None is none."""
    ours = ("Resizing", "FileSystemResizePending", "ControllerResizeError")
    left = [each for each in claim["status"].get("conditions") or () if each["type"] not in ours]
    return left or None


def _version(obj: Object) -> Object:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}
