"""Whom kube-apiserver trusts when it passes token requests on: the gateway's authority, in its APIServices."""

import base64

from ingot.api.cdi import uploadgroup
from ingot.api.object import Object
from ingot.api.resources import API_SERVICES
from ingot.kube.cache import Key
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.web.cluster.keeper import Keeper

NAMES = tuple(f"{version}.{uploadgroup.GROUP}" for version in uploadgroup.VERSIONS)


class Bundles:
    """Keeps `spec.caBundle` of the two APIServices. They are made by who installs Ingot, never here."""

    def __init__(self, manager: Manager, keeper: Keeper) -> None:
        self._client, self._keeper = manager.client, keeper
        self._services = {
            name: manager.informer(API_SERVICES, field_selector=f"metadata.name={name}") for name in NAMES
        }
        controller = Controller("gateway-bundles", self.reconcile)
        for informer in self._services.values():
            controller.watch(informer)
        controller.watch(keeper.secrets, lambda _: [Key("", name) for name in NAMES])
        manager.add(controller)

    async def reconcile(self, key: Key) -> None:
        informer = self._services.get(key.name)
        service: Object | None = informer.cache.get(key) if informer else None
        authority = self._keeper.authority()
        if service is None or not authority:
            return
        wanted = base64.b64encode(authority.encode()).decode()
        if service["spec"].get("caBundle") != wanted:
            await self._client.patch(API_SERVICES, key.name, {"spec": {"caBundle": wanted}})
