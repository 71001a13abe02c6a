"""Who may ask for upload tokens: users whom kube-apiserver has let in, and who have the right to."""

import asyncio
import logging
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from ingot.api.object import Object
from ingot.api.resources import CONFIG_MAPS, UPLOAD_TOKEN_REQUESTS
from ingot.api.status import forbidden, unauthorized
from ingot.host.files import write_atomically
from ingot.kube import frontproxy
from ingot.kube.access import allowed
from ingot.kube.cache import Key
from ingot.kube.controller import Controller, Final
from ingot.kube.frontproxy import FrontProxy
from ingot.kube.kubeconfig import ConfigError
from ingot.kube.manager import Manager

log = logging.getLogger(__name__)

_KEY = Key(frontproxy.NAMESPACE, frontproxy.NAME)
_GROUP, _PLURAL = UPLOAD_TOKEN_REQUESTS.group, UPLOAD_TOKEN_REQUESTS.plural


class Guard:
    """Lets in whom the cluster's API server speaks for. `clients` is the file of the authorities that sign for it;
    `ready` is set when they are known."""

    def __init__(self, manager: Manager, directory: Path) -> None:
        self._client = manager.client
        selected = f"metadata.name={frontproxy.NAME}"
        self._maps = manager.informer(CONFIG_MAPS, frontproxy.NAMESPACE, field_selector=selected)
        self._proxy: FrontProxy | None = None
        self.clients = directory / "clients.crt"
        self.ready = asyncio.Event()
        manager.add(Controller("gateway-clients", self.reconcile).watch(self._maps))

    async def reconcile(self, key: Key) -> None:
        found = self._maps.cache.get(key)
        if key != _KEY or found is None:
            return
        try:
            proxy = FrontProxy.read(found)
        except ConfigError as error:
            raise Final(f"nobody can be given upload tokens: {error}") from error
        if self._proxy is None or proxy.authorities != self._proxy.authorities:
            write_atomically(self.clients, proxy.authorities.encode())
        self._proxy = proxy
        self.ready.set()

    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Raises ApiError: 401 for strangers, 403 for users who may not.

        kube-apiserver has asked for their rights before. Others that may speak for users, as proxies in front of it do,
        have not.
        """
        user = self._user(request)
        if namespace := request.match_info.get("namespace"):
            attributes = {"namespace": namespace, "verb": "create", "group": _GROUP, "resource": _PLURAL}
            if not await allowed(self._client, user, attributes):
                why = f'User "{user["username"]}" cannot create them in the namespace "{namespace}"'
                raise forbidden(_GROUP, _PLURAL, "", why)
        return await handler(request)

    def _user(self, request: web.Request) -> Object:
        shown = request.transport.get_extra_info("peercert") if request.transport else None
        if self._proxy is None or not self._proxy.trusts(shown):
            raise unauthorized("Unauthorized: ask the cluster's API server, which passes it on")
        user = self._proxy.user(request.headers)
        if user is None:
            raise unauthorized("Unauthorized: it is not said who asks")
        return user
