"""A cron is deleted: what it imported, and its DataSource, stay or go as it says."""

from dataclasses import dataclass

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, SSPS
from ingot.control.golden import belonging, linking, standing
from ingot.control.golden.collection import GRACE_SECONDS, Collector
from ingot.control.golden.freshness import HELD, PAUSED
from ingot.control.golden.imports import Import
from ingot.control.golden.links import is_kept_from, let_go, target_of
from ingot.control.golden.moments import moment
from ingot.control.golden.ordered import orders_of
from ingot.control.golden.owners import is_owner
from ingot.control.golden.rivals import Rivals, managed_by
from ingot.control.volumes.marks import annotation
from ingot.control.writing import change, live
from ingot.kube.cache import key_of
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.objects import controller_of, has_finalizer, is_deleting, remove_finalizer

# How soon it is looked whether what holds an import has gone; most of it is heard of sooner.
_HELD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Farewell:
    """With retentionPolicy None imports go, each when nobody needs it, and the DataSource is left to the garbage
    collector. Else all of that stays, and only what is of no use goes: imports that are not complete and that nobody
    waits for, and a DataSource that the cron made and never had one for. Where the SSP makes the cron anew all imports
    stay: the next cron goes on with those that are under way too.

    A DataSource that stays, because somebody else has it or wants it, keeps the version that it stands for: that is
    left behind, and no cron waits for it.
    """

    client: Client
    collector: Collector
    rivals: Rivals

    async def step(self, cron: Object, imports: list[Import]) -> float | None:
        """Seconds until it is to be looked at again; None when the cron may go, or is heard of before that."""
        if not has_finalizer(cron, names.CRON_FINALIZER):
            await self._await_ssp(cron)
            return None
        key = managed_by(cron)
        link = await live(self.client, DATA_SOURCES, key.name, key.namespace)
        asked = await self._is_asked_for(cron)
        anew = asked and linking.manager_of(link) == name_of(cron)
        keeps = anew or cron["spec"].get("retentionPolicy") != "None"
        goes = link is None or (not anew and self._goes(cron, link) and not (keeps and _is_of_use(link, cron)))
        if link is not None and not goes:
            # First of all: where the cron is deleted in the foreground, and alone has it, a garbage collector takes it.
            link = await change(self.client, DATA_SOURCES, link, lambda each: let_go(each, cron, anew=asked))
        if keeps:
            going = [each for each in imports if each.is_unfinished and not anew]
            why, until = "and it is not complete", "nobody waits for that any more, or it is complete"
        elif has_finalizer(cron, HELD):
            # The SSP is yet to say what the DataSource stands for without this cron.
            await self._await_ssp(cron)
            return None
        elif (left := self._grace(cron)) > 0:
            why = f"its versions go {GRACE_SECONDS:g} s after that, once those who are about to clone them are known"
            await self._tell(cron, f"deleted, with retentionPolicy None: {why}")
            return left
        else:
            served = None if goes else target_of(link)
            going = [each for each in imports if not each.is_leaving and each.key != served]
            why, until = "with retentionPolicy None", "nobody uses that any more"
        if held := await self._holds(cron, going, f"its cron is deleted, {why}"):
            again = f"it goes when {until}, looked at in {_HELD_SECONDS:g} s again"
            await self._tell(cron, f"deleted{'' if keeps else f', {why}'}: {'; '.join(held)}: {again}")
            return _HELD_SECONDS
        await change(self.client, DATA_IMPORT_CRONS, cron, lambda each: remove_finalizer(each, names.CRON_FINALIZER))
        return None

    def _grace(self, cron: Object) -> float:
        """Seconds until versions may go: a clone that was begun before the cron was deleted is known by then."""
        since = moment(str(cron["metadata"]["deletionTimestamp"])) or 0.0
        left = GRACE_SECONDS - (self.collector.clock.time() - since)
        # Clocks of two machines differ a little; a time that is far ahead is of another clock.
        return left if left <= 2 * GRACE_SECONDS else 0.0

    async def _await_ssp(self, cron: Object) -> None:
        """Tell of the SSP that holds it, if one does."""
        for owner in belonging.owners(cron) if has_finalizer(cron, HELD) else ():
            ssp = await live(self.client, SSPS, owner.name, owner.namespace)
            paused = f": take {PAUSED} from that" if ssp and annotation(ssp, PAUSED) == "true" else ""
            await self._tell(cron, f'deleted: it goes when SSP "{owner}" has taken its DataSource back{paused}')
            return

    async def _tell(self, cron: Object, why: str) -> None:
        told = standing.leaving(cron, why, self.collector.clock.time())
        await patch_status(self.client, DATA_IMPORT_CRONS, cron, told)

    async def _is_asked_for(self, cron: Object) -> bool:
        """Whether an SSP, which has changed the template of the cron, still asks for one of its name."""
        for owner in belonging.owners(cron):
            ssp = await live(self.client, SSPS, owner.name, owner.namespace)
            orders = orders_of(ssp) if ssp is not None and not is_deleting(ssp) else ()
            if any(each.key == key_of(cron) and each.source == managed_by(cron).name for each in orders):
                return True
        return False

    def _goes(self, cron: Object, link: Object) -> bool:
        """Whether the DataSource goes with the cron: that alone owns it, and nobody else is to have it."""
        shared = belonging.others(link, cron) or any(belonging.owners(link)) or self.rivals.holder(cron) is not None
        return is_owner(link, cron) and not shared and not is_kept_from(link, cron)

    async def _holds(self, cron: Object, going: list[Import], why: str) -> list[str]:
        """Delete all of these that are free; who has the rest, to be told."""
        held = []
        for each in going:
            if holder := await self.collector.drop(cron, each, why):
                held.append(f'version {each.version}, in "{each.name}", is used by {holder}')
                message = f"{held[-1]}: the cron goes after that"
                self.collector.events.record(cron, "ImportHeld", message, "Warning")
        return held


def _is_of_use(link: Object, cron: Object) -> bool:
    """Whether a DataSource points somewhere, or somebody else has made it."""
    return bool(link["spec"]["source"]) or (controller_of(link) or {}).get("uid") != uid_of(cron)
