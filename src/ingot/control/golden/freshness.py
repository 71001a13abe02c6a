"""The DataSources of the common templates, and the crons that an SSP orders for them and for others (G5)."""

from collections.abc import Mapping, Sequence
from typing import Final

from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.golden import belonging, common, keepsake, linking
from ingot.control.golden.imports import Import, cron_of
from ingot.control.golden.keeper import Keeper
from ingot.control.golden.linking import Link, Seen
from ingot.control.golden.links import target_of
from ingot.control.golden.ordered import Order, orders_of
from ingot.control.golden.rivals import Rivals, managed_by
from ingot.control.writing import change, delete, live
from ingot.kube.cache import Key, key_of
from ingot.kube.manager import Manager
from ingot.kube.objects import add_finalizer, has_finalizer, is_deleting, remove_finalizer

# Of a cron of an SSP: its DataSource is taken back before it is gone.
HELD: Final = "finalize.ssp.kubevirt.io/data-source"
# Of an SSP: "true" holds all work on it back.
PAUSED: Final = "kubevirt.io/operator.paused"


class Freshness:
    """Of one cluster, out of caches."""

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self.claims = manager.informer(VOLUME_CLAIMS)
        self._volumes = manager.informer(DATA_VOLUMES)
        self.sources = manager.informer(DATA_SOURCES)
        self.crons = manager.informer(DATA_IMPORT_CRONS)
        self._rivals = Rivals(manager)

    async def keep(self, keeper: Keeper, ssp: Object) -> None:
        """Bring both to what the SSP says, in this order: crons that are to go, DataSources, crons."""
        orders = orders_of(ssp)
        links = {name: await self._link(name, orders, ssp) for name in sorted(common.sources())}
        wanted = {each.key: each for each in orders if links.get(each.source) is Link.AUTOMATIC or not each.is_common}
        # First, for as long as they are not about to go they would move the DataSource again.
        ended = await self._remove(ssp, wanted)
        for name, link in links.items():
            if link is not Link.FOREIGN:
                crons = [each.key.name for each in wanted.values() if each.is_common and each.source == name]
                await self._keep_source(keeper, ssp, name, crons, ended)
        for order in wanted.values():
            await self._keep_cron(keeper, ssp, order)
        # Whether an image is the SSP's is known as long as its cron is there: none goes before all is as it should be.
        if not keeper.is_late:
            await self._release(ssp, wanted)

    async def _link(self, name: str, orders: Sequence[Order], ssp: Object) -> Link:
        key = Key(common.NAMESPACE, name)
        found = self.sources.cache.get(key)
        ordered = any(each.is_common and each.source == name for each in orders)
        label = linking.manager_of(found)
        cron = self.crons.cache.get(Key(common.NAMESPACE, label))
        # A label that names no cron, such as `true`, leaves the DataSource with the cron that has it.
        if cron is None and linking.is_labelled(found):
            cron = self._rivals.oldest(key)
        managed = linking.is_managed(found, cron, ssp)
        has_claim = ordered and not label and await self._has_claim(key)
        return linking.link_of(Seen(name, found, ordered, has_claim, managed, self._has_own(found, ssp)), ssp)

    async def _has_claim(self, key: Key) -> bool:
        """Whether a person has made a claim of that name. The server is asked, for a cache may be late."""
        claim = self.claims.cache.get(key) or await live(self._client, VOLUME_CLAIMS, key.name, key.namespace)
        return claim is not None and IMPORT_CRON not in (claim["metadata"].get("labels") or {})

    def _has_own(self, found: Object | None, ssp: Object) -> bool:
        """Whether a DataSource stands for an image that is there, and that no cron of the SSP has brought."""
        target = target_of(found)
        if found is None or target is None or found["spec"] == common.dangling(name_of(found)):
            return False
        claim = self.claims.cache.get(target)
        if claim is None:
            return False
        image, cron = Import(self._volumes.cache.get(target), claim), cron_of(claim)
        bringer = self.crons.cache.get(cron) if cron else None
        is_ours = bringer is not None and belonging.is_of(bringer, ssp)
        return image.has_volume and not image.is_leaving and not is_ours

    async def _remove(self, ssp: Object, wanted: Mapping[Key, Order]) -> set[str]:
        """Crons of the SSP that it no longer asks for, or asks for in another way; the uids of all that are to go."""
        ended = set()
        for cron in self._own(ssp):
            order = wanted.get(key_of(cron))
            if not is_deleting(cron) and (order is None or order.is_outdated(cron)):
                await delete(self._client, DATA_IMPORT_CRONS, cron)
                ended.add(uid_of(cron))
            elif is_deleting(cron):
                ended.add(uid_of(cron))
        return ended

    async def _keep_source(self, keeper: Keeper, ssp: Object, name: str, crons: Sequence[str], ended: set[str]) -> None:
        is_new = self.sources.cache.get(Key(common.NAMESPACE, name)) is None

        def heal(source: Object) -> None:
            if crons:
                linking.follow(source, crons)
            else:
                linking.cut(source)
            linking.disown(source, ended)
            belonging.take(source, ssp, made=is_new)

        await keeper.keep(DATA_SOURCES, self.sources.cache, linking.new(name), heal)

    async def _keep_cron(self, keeper: Keeper, ssp: Object, order: Order) -> None:
        found = self.crons.cache.get(order.key)
        if found is not None and not belonging.is_of(found, ssp):
            message = f"DataImportCron {order.key} is somebody else's: delete it, or give the template another name"
            keeper.problems.append(message)
            return
        if found is not None and order.is_outdated(found):
            return
        said = await self._said_before(order, found)

        def heal(cron: Object) -> None:
            cron["metadata"]["annotations"] = {**said, **(cron["metadata"].get("annotations") or {})}
            order.dress(cron)
            add_finalizer(cron, HELD)
            belonging.take(cron, ssp, made=True)

        await keeper.keep(DATA_IMPORT_CRONS, self.crons.cache, order.cron(), heal)

    async def _said_before(self, order: Order, found: Object | None) -> dict[str, str]:
        """What is to be said of the cron because it was said of the one before; once it is there, that is dropped."""
        if found is None:
            # The server is asked, for a cache may be late: a pin that is missed is a rollback undone.
            return keepsake.said_of(await live(self._client, DATA_SOURCES, order.source, order.key.namespace))
        source = self.sources.cache.get(Key(order.key.namespace, order.source))
        if source is not None and not is_deleting(found) and keepsake.is_handed_over(source, found):
            await change(self._client, DATA_SOURCES, source, keepsake.drop)
        return {}

    async def _release(self, ssp: Object, wanted: Mapping[Key, Order]) -> None:
        """Crons that no DataSource of the SSP belongs to any more may go; what is said of them waits for the next."""
        followed = {Key(each.key.namespace, each.source) for each in wanted.values()}
        for cron in self._own(ssp):
            owned = self.sources.cache.by_index("owner", uid_of(cron))
            if not is_deleting(cron) or any(belonging.is_of(each, ssp) for each in owned):
                continue
            if has_finalizer(cron, HELD) and managed_by(cron) in followed:
                await self._leave(cron)
            await self.let_go(cron)

    async def _leave(self, cron: Object) -> None:
        key = managed_by(cron)
        source = await live(self._client, DATA_SOURCES, key.name, key.namespace)
        if source is not None:
            await change(self._client, DATA_SOURCES, source, lambda each: keepsake.leave(each, cron))

    async def let_go(self, cron: Object) -> None:
        """Hold it no longer."""
        if has_finalizer(cron, HELD):
            await change(self._client, DATA_IMPORT_CRONS, cron, lambda each: remove_finalizer(each, HELD))

    async def end(self, ssp: Object, *, orphaned: bool) -> bool:
        """Remove the SSP's crons, or only make them nobody's; whether they are gone, as far as the cache shows."""
        crons = self._own(ssp)
        for cron in crons:
            if orphaned:
                await change(self._client, DATA_IMPORT_CRONS, cron, lambda each: _orphan(each, ssp))
            elif not is_deleting(cron):
                await delete(self._client, DATA_IMPORT_CRONS, cron)
            else:
                await self.let_go(cron)
        return not crons

    async def has_left(self, ssp: Object) -> bool:
        """Whether it has crons that the cache is yet to show: once the SSP is gone, nobody would let go of them. The
        server is asked."""
        async for page in self._client.pages(DATA_IMPORT_CRONS):
            if any(belonging.is_of(each, ssp) for each in page["items"]):
                return True
        return False

    def _own(self, ssp: Object) -> list[Object]:
        return [each for each in self.crons.cache.list() if belonging.is_of(each, ssp)]


def _orphan(cron: Object, ssp: Object) -> None:
    belonging.let_go(cron, ssp)
    remove_finalizer(cron, HELD)


def is_common(obj: Object) -> bool:
    """Whether a DataSource or claim has the name of one that the common templates clone."""
    return key_of(obj).namespace == common.NAMESPACE and name_of(obj) in common.sources()
