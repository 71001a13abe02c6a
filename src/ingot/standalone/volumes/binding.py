"""The steps of binding: each one patch, each harmless when repeated, the claim's own last."""

import asyncio
from typing import Any

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.standalone.volumes.words import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    annotation,
    phase_of,
    reference_to,
)


class Binding:
    """A claim is bound when its annotation says so: by then the volume names it. Its phases are told besides."""

    def __init__(self, client: Client, events: Recorder) -> None:
        self._client = client
        self._events = events

    async def bind(self, volume: Object, claim: Object) -> None:
        """Make the two belong to each other. Raises a 409 ApiError when either is no longer what it was."""
        volume = await self._point_volume(volume, claim)
        # At once: whoever waits for the claim need not wait for what is said of the volume.
        told, bound = await asyncio.gather(
            self.set_volume_phase(volume, "Bound"), self._bind_claim(claim, volume), return_exceptions=True
        )
        for outcome in (bound, told):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _bind_claim(self, claim: Object, volume: Object) -> None:
        claim = await self._point_claim(claim, volume)
        await self._fill_status(claim, volume)

    async def _point_volume(self, volume: Object, claim: Object) -> Object:
        reference = volume["spec"].get("claimRef")
        if reference and reference.get("uid") == uid_of(claim):
            return volume
        metadata = _version(volume)
        if not reference:
            metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        change = {"metadata": metadata, "spec": {"claimRef": reference_to(claim)}}
        return await self._client.patch(VOLUMES, name_of(volume), change)

    async def _point_claim(self, claim: Object, volume: Object) -> Object:
        if claim["spec"].get("volumeName") == name_of(volume) and annotation(claim, BIND_COMPLETED):
            return claim
        metadata = _version(claim)
        metadata["annotations"] = {BIND_COMPLETED: "yes"}
        change: Object = {"metadata": metadata}
        if not claim["spec"].get("volumeName"):
            metadata["annotations"][BOUND_BY_CONTROLLER] = "yes"
            change["spec"] = {"volumeName": name_of(volume)}
        return await self._client.patch(VOLUME_CLAIMS, name_of(claim), change, namespace_of(claim))

    async def _fill_status(self, claim: Object, volume: Object) -> None:
        """The phase, and what the claim got. A bound claim's capacity is changed by whoever resizes it."""
        if phase_of(claim) == "Bound":
            return
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"]["accessModes"],
            "capacity": volume["spec"]["capacity"],
        }
        await self._patch_status(claim, status)

    async def lose(self, claim: Object, reason: str, message: str) -> None:
        """The claim's volume is gone, and no other can take its place."""
        if phase_of(claim) != "Lost":
            self._events.record(claim, reason, message, "Warning")
            await self._patch_status(claim, {"phase": "Lost", "capacity": None, "accessModes": None})

    async def _patch_status(self, claim: Object, status: dict[str, Any]) -> None:
        change = {"metadata": _version(claim), "status": status}
        await self._client.patch(VOLUME_CLAIMS, name_of(claim), change, namespace_of(claim), subresource="status")

    async def set_volume_phase(self, volume: Object, phase: str, message: str = "") -> None:
        """Write the phase of a volume; the time of the change is the server's."""
        if phase_of(volume) == phase:
            return
        change = {"metadata": _version(volume), "status": {"phase": phase, "message": message or None}}
        await self._client.patch(VOLUMES, name_of(volume), change, subresource="status")


def _version(obj: Object) -> Object:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}
