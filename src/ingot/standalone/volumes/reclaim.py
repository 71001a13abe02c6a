"""What becomes of a volume whose claim is gone."""

from ingot.api.object import Object, name_of
from ingot.api.resources import VOLUMES
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes.binding import Binding
from ingot.standalone.volumes.words import BOUND_BY_CONTROLLER, PROVISIONED_BY, annotation, phase_of


class Reclaim:
    """Marks volumes as released. Whoever made one deletes it; one that nobody made cannot be deleted from here."""

    def __init__(self, client: Client, events: Recorder) -> None:
        self._client = client
        self._events = events
        self._binding = Binding(client, events)

    async def release(self, volume: Object) -> None:
        """The volume's claim is gone: keep it, or say why it cannot be deleted as it asks."""
        if phase_of(volume) not in ("Released", "Failed"):
            await self._binding.set_volume_phase(volume, "Released")
            return
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        if phase_of(volume) == "Failed" or policy == "Retain" or is_deleting(volume):
            return
        if policy == "Delete" and annotation(volume, PROVISIONED_BY):
            return
        await self._fail(volume, policy)

    async def _fail(self, volume: Object, policy: str | None) -> None:
        if policy == "Delete":
            reason = "VolumeFailedDelete"
            which = f'error getting deleter volume plugin for volume "{name_of(volume)}"'
            why = f"{which}: no deletable volume plugin matched"
        else:
            reason, why = "VolumeFailedRecycle", "No recycler plugin found for the volume!"
        self._events.record(volume, reason, why, "Warning")
        await self._binding.set_volume_phase(volume, "Failed", why)

    async def give_back(self, volume: Object) -> None:
        """The volume was made or chosen for a claim that has got another one meanwhile."""
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        if annotation(volume, PROVISIONED_BY) and policy == "Delete":
            await self.release(volume)
        elif annotation(volume, BOUND_BY_CONTROLLER):
            metadata = {
                "resourceVersion": volume["metadata"]["resourceVersion"],
                "annotations": {BOUND_BY_CONTROLLER: None},
            }
            await self._client.patch(VOLUMES, name_of(volume), {"metadata": metadata, "spec": {"claimRef": None}})
