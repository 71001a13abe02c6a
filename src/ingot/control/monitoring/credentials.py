"""Secrets and ConfigMaps that golden images are fetched with: when what they hold expires (G9)."""

from collections.abc import Iterator

from ingot.api.object import Object, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS, DATA_IMPORT_CRONS, SECRETS
from ingot.control.monitoring.expiry import of_object
from ingot.control.monitoring.family import Family, gauge
from ingot.control.writing import live
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.manager import Manager

# How often each is read again: they are not watched, as that would be to hold all Secrets of a cluster in memory.
_LOOK_SECONDS = 600.0
_WORKERS = 2


class CredentialFigures:
    """Reads each by name, and keeps the moment alone. Nothing else of it is ever told."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._kinds = [
            _Kind(manager, SECRETS, ("secretRef", "secretExtraHeaders"), clock),
            _Kind(manager, CONFIG_MAPS, ("certConfigMap",), clock),
        ]

    def families(self) -> Iterator[Family]:
        found = (((kind.name, *key), moment) for kind in self._kinds for key, moment in sorted(kind.moments.items()))
        doc = "When the first certificate or token in a Secret or ConfigMap expires that a DataImportCron names"
        yield gauge("ingot_credential_expiry_timestamp_seconds", doc, ("kind", "ns", "name"), found)


class _Kind:
    """The controller for one of the two kinds, which `fields` of sources name."""

    def __init__(self, manager: Manager, resource: Resource, fields: tuple[str, ...], clock: Clock) -> None:
        self.name = resource.kind
        self.moments: dict[Key, float] = {}
        self._clock = clock
        self._looked: dict[Key, float] = {}
        self._client = manager.client
        self._resource = resource
        self._fields = fields
        self._index = f"named-{resource.plural}"
        self._crons = manager.informer(DATA_IMPORT_CRONS)
        self._crons.cache.add_index(self._index, self._indexed)
        controller = Controller(f"expiry-{resource.plural}", self.reconcile, workers=_WORKERS, clock=clock)
        manager.add(controller.watch(self._crons, self._named))

    def _named(self, cron: Object) -> Iterator[Key]:
        for source in ((cron["spec"].get("template") or {}).get("spec") or {}).get("source", {}).values():
            for field in self._fields:
                given = source.get(field) or ()
                yield from (Key(namespace_of(cron), name) for name in ([given] if isinstance(given, str) else given))

    def _indexed(self, cron: Object) -> list[str]:
        return [str(key) for key in self._named(cron)]

    async def reconcile(self, key: Key) -> Result | None:
        if not self._crons.cache.by_index(self._index, str(key)):
            self.moments.pop(key, None)
            self._looked.pop(key, None)
            return None
        # Crons change whenever their sources are asked, which is no reason to look again.
        since = self._clock.monotonic() - self._looked.get(key, -_LOOK_SECONDS)
        if since < _LOOK_SECONDS:
            return Result(_LOOK_SECONDS - since)
        found = await live(self._client, self._resource, key.name, key.namespace)
        self._looked[key] = self._clock.monotonic()
        self.moments.pop(key, None)
        moment = of_object(self._resource, found, self._clock.time()) if found else None
        if moment is not None:
            self.moments[key] = moment
        return Result(_LOOK_SECONDS)
