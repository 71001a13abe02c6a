"""VolumeSnapshots note what they hold while the claim that they are taken of can still tell."""

from collections.abc import Iterable

from ingot.api.cdi import content
from ingot.api.cdi.names import CONTENT_TYPE, PRIME_FOR
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.snapshots.kinds import snapshot_kinds
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.taken import claim_of
from ingot.kube.cache import Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

_SILENT = "snapshot-silent"


def _silent(snapshot: Object) -> Iterable[str]:
    """Snapshots that note nothing yet, by their claims; what is between a claim and its clone need not."""
    return [] if content.told(snapshot) or annotation(snapshot, PRIME_FOR) else [str(claim_of(snapshot))]


class SnapshotNotes:
    """The controller. It writes nothing but that one annotation, and never another one over it."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._claims = manager.informer(VOLUME_CLAIMS)
        kinds = snapshot_kinds(manager, clock)
        self._snapshots = kinds.snapshots
        self._snapshots.cache.add_index(_SILENT, _silent)
        controller = Controller("snapshot-notes", self.reconcile, clock=clock)
        controller.watch(self._claims, self._of_claim)
        kinds.wake(controller, lambda snapshot: [key_of(snapshot)])
        manager.add(controller)

    def _of_claim(self, claim: Object) -> list[Key]:
        return [key_of(each) for each in self._snapshots.cache.by_index(_SILENT, str(key_of(claim)))]

    async def reconcile(self, key: Key) -> None:
        snapshot = self._snapshots.cache.get(key)
        if snapshot is None or is_deleting(snapshot) or not list(_silent(snapshot)):
            return
        held = content.of_snapshot(snapshot, self._claims.cache.get(claim_of(snapshot)))
        if not held:
            return
        change = {"metadata": {"uid": uid_of(snapshot), "annotations": {CONTENT_TYPE: held}}}
        try:
            await self._client.patch(SNAPSHOTS, name_of(snapshot), change, namespace_of(snapshot))
        except ApiError as error:
            if error.code != 404:
                raise
