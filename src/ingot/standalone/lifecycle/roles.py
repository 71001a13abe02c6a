"""ClusterRoles that gather the rules of others, and show what they have gathered."""

from ingot.api.object import Object, name_of
from ingot.standalone.access.aggregation import is_aggregated, rules_of
from ingot.standalone.access.bindings import CLUSTER_ROLES
from ingot.standalone.jsontext import decode
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.world import World
from ingot.standalone.store.history import Change


class Roles(Worker[str]):
    """Writes the rules that a role gathers into it. Authorization does not wait for this: it gathers by itself."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self._world = world
        self._inside = Inside(world, "clusterrole-aggregation-controller")
        self._gather_all()

    def on_change(self, change: Change) -> None:
        if change.resource == CLUSTER_ROLES:
            self._gather_all()

    def _gather_all(self) -> None:
        """Any role may be gathered by any other; there are few that gather."""
        for name, role in self._all().items():
            if is_aggregated(role):
                self.queue.add(name)

    def _all(self) -> dict[str, Object]:
        roles = (decode(entry.value) for entry in self.store.collection(CLUSTER_ROLES))
        return {name_of(role): role for role in roles}

    async def work(self, name: str) -> None:
        roles = self._all()
        if name not in roles or not is_aggregated(roles[name]):
            return
        rules = rules_of(roles[name], roles)
        if rules != roles[name].get("rules"):
            await self._inside.apply(
                self._world.catalog.known(CLUSTER_ROLES), {"metadata": {"name": name}, "rules": rules}
            )
