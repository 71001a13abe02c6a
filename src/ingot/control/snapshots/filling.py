"""Fills the claims of a restore: each is made from its VolumeSnapshot or its full copy, and waited for."""

from typing import NamedTuple

from ingot.api.cdi.names import SELECTED_NODE
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import CLONE_SOURCES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.owning import is_owned
from ingot.control.setbacks import Setbacks
from ingot.control.snapshots import in_place
from ingot.control.snapshots.parts import Parts
from ingot.control.snapshots.restore_status import CREATING
from ingot.control.snapshots.restored import Impossible
from ingot.control.snapshots.restored_claims import claim_from, clone_source
from ingot.control.snapshots.target import NotYet, refused
from ingot.control.snapshots.words import is_ready
from ingot.control.volumes.marks import annotation, is_bound
from ingot.control.volumes.placement import is_delayed
from ingot.control.writing import live
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

# How often what a claim is made from is looked at, while it cannot be used.
_ORIGIN_SECONDS = 10.0


class _Lack(NamedTuple):
    """A claim that is to be made: `former` is one of its name that is there now."""

    plan: Object
    backup: Object
    origin: Object
    former: Object | None


class Filling:
    """Makes the claims, and tells when every one of them has its content."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._parts = Parts(manager, clock)
        self._setbacks = Setbacks(manager)

    async def fill(self, restore: Object, content: Object, machine: Object | None) -> None:
        """Returns when all claims are filled. Raises NotYet until then, Impossible where one is in the way.

        `machine` is the target as it is now. Nothing of it is deleted before all that is still to be made can be.
        """
        there, lacking = await self._look(restore, content)
        for lack in lacking:
            if lack.former is not None:
                in_place.check_own(restore, lack.plan, lack.backup, machine)
            if lack.plan.get("savedClaimName"):
                await self._tell(clone_source(restore, lack.plan))
        if former := {lack.plan["volumeName"]: lack.former for lack in lacking if lack.former is not None}:
            await in_place.make_room(self._client, restore, former)
        there += [(lack.plan, await self._make(restore, lack)) for lack in lacking]
        waiting = [claim for plan, claim in there if not self._is_filled(plan, claim)]
        if waiting:
            told = [f'"{name_of(claim)}"{self._why(claim)}' for claim in waiting]
            raise NotYet(CREATING, f"Waiting for new PVCs: {', '.join(told)}")

    async def _look(self, restore: Object, content: Object) -> tuple[list[tuple[Object, Object]], list[_Lack]]:
        """The plans whose claims are there, with these, and what is lacking. Raises NotYet, Impossible."""
        backups = {each["volumeName"]: each for each in content["spec"].get("volumeBackups") or ()}
        there, lacking = [], []
        for plan in restore["status"]["restores"]:
            found = await live(self._client, VOLUME_CLAIMS, plan["persistentVolumeClaim"], namespace_of(restore))
            if found is not None and is_owned(found, restore):
                there.append((plan, found))
            else:
                origin = await self._origin(plan, content)
                lacking.append(_Lack(plan, backups[plan["volumeName"]], origin, found))
        return there, lacking

    async def _origin(self, plan: Object, content: Object) -> Object:
        """What a claim is made from. Raises Impossible where that is gone, NotYet where it cannot be used now."""
        copied = plan.get("savedClaimName", "")
        kind, wanted = (VOLUME_CLAIMS, copied) if copied else (SNAPSHOTS, plan["volumeSnapshotName"])
        origin = await live(self._client, kind, wanted, namespace_of(content))
        shown = f'{kind.kind} "{wanted}"'
        if origin is None or is_deleting(origin) or not is_owned(origin, content):
            raise Impossible(f"{shown} is gone: the volume cannot be restored")
        if not (is_bound(origin) if copied else is_ready(origin)):
            message = f"{shown} cannot be used now: the restore goes on once it can"
            raise NotYet("SnapshotNotReady", message, _ORIGIN_SECONDS)
        return origin

    def _is_filled(self, plan: Object, claim: Object) -> bool:
        """Whether the claim has its content, or gets it later by itself."""
        return is_bound(claim) or (not plan.get("savedClaimName") and self._comes_later(claim))

    def _comes_later(self, claim: Object) -> bool:
        """Whether the claim is filled once the machine starts, since its class waits for that."""
        storage_class = self._parts.storage_class(claim["spec"].get("storageClassName") or "")
        return is_delayed(storage_class) and not annotation(claim, SELECTED_NODE)

    def _why(self, claim: Object) -> str:
        why = self._setbacks.last(claim)
        return f" ({why})" if why else ""

    async def _make(self, restore: Object, lack: _Lack) -> Object:
        try:
            return await self._client.create(VOLUME_CLAIMS, claim_from(restore, lack.plan, lack.backup, lack.origin))
        except ApiError as error:
            shown = f'{VOLUME_CLAIMS.kind} "{lack.plan["persistentVolumeClaim"]}"'
            raise refused("FailedCreate", shown, error) from error

    async def _tell(self, source: Object) -> None:
        """Make what tells the populator how to fill a claim."""
        try:
            await self._client.create(CLONE_SOURCES, source)
        except ApiError as error:
            # Its name has the restore's uid in it: one that is there was made for this one.
            if error.reason != "AlreadyExists":
                raise refused("FailedCreate", f'{CLONE_SOURCES.kind} "{name_of(source)}"', error) from error
