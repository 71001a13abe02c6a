"""What keeps an import from being garbage: whoever reads it, or is about to."""

from collections.abc import Callable, Iterable

from ingot.api.resources import DATA_SOURCES, PODS, SNAPSHOTS
from ingot.control.golden.holding import FOLLOWED, of_pod, of_snapshot
from ingot.control.snapshots.kinds import snapshot_kinds
from ingot.kube.cache import Cache, Indexer, Key, key_of
from ingot.kube.clock import Clock
from ingot.kube.controller import Controller, Mapper
from ingot.kube.manager import Manager

_INDEX = "claims-read"


class Holders:
    """Who holds a claim, of all namespaces, out of indexes; pods of strangers are asked for when it matters."""

    def __init__(self, manager: Manager, clock: Clock) -> None:
        self._client = manager.client
        self._kinds = snapshot_kinds(manager, clock)
        self._informers = [(manager.informer(resource), indexer) for resource, indexer in FOLLOWED]
        self._caches: list[tuple[str, Cache]] = []
        for informer, indexer in self._informers:
            informer.cache.add_index(_INDEX, indexer)
            self._caches.append((informer.resource.kind, informer.cache))
        self._kinds.snapshots.cache.add_index(_INDEX, of_snapshot)
        self._caches.append((SNAPSHOTS.kind, self._kinds.snapshots.cache))

    def wake(self, controller: Controller, crons_of: Callable[[Key], Iterable[Key]]) -> None:
        """Let the controller look at the crons whose imports are held, or were: what was kept for one goes after it."""

        def mapper(indexer: Indexer) -> Mapper:
            return lambda obj: [cron for claim in indexer(obj) for cron in crons_of(_parsed(claim))]

        for informer, indexer in self._informers:
            controller.watch(informer, mapper(indexer))
        self._kinds.wake(controller, mapper(of_snapshot))

    def of(self, claim: Key, besides: Key | None = None) -> str:
        """One that holds the claim, to be told; "" where nobody does. The DataSource `besides` is not counted."""
        for kind, cache in self._caches:
            for found in cache.by_index(_INDEX, str(claim)):
                if kind != DATA_SOURCES.kind or key_of(found) != besides:
                    return f'{kind} "{key_of(found)}"'
        return ""

    async def pod_of(self, claim: Key) -> str:
        """A pod that mounts the claim, to be told; "" where none does. The server is asked."""
        async for page in self._client.pages(PODS, claim.namespace):
            for pod in page["items"]:
                if str(claim) in of_pod(pod):
                    return f'{PODS.kind} "{key_of(pod)}"'
        return ""


def _parsed(text: str) -> Key:
    namespace, _, name = text.partition("/")
    return Key(namespace, name)
