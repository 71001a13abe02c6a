"""The gateway of a cluster, put together: uploads at one port, and at another the API of tokens."""

import asyncio
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.control.reach import Reach
from ingot.control.subresources.server import token_application
from ingot.kube.certificate import ServingCertificate
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.web.address import KEY, Address
from ingot.web.cluster.bundles import Bundles
from ingot.web.cluster.guard import Guard
from ingot.web.cluster.keeper import Keeper
from ingot.web.destination import Destinations
from ingot.web.door import Door
from ingot.web.proxy import Proxy

log = logging.getLogger(__name__)

# The Services in front of all gateways: for clients, and for the API server.
SERVICE, TOKENS = f"ingot-gateway.{SYSTEM_NAMESPACE}.svc", f"ingot-tokens.{SYSTEM_NAMESPACE}.svc"
READY = "/readyz"
_SHUTDOWN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Ports:
    """Where to listen, as pairs of host and port; `known_as` is HOST:PORT as clients reach uploads."""

    uploads: tuple[str, int]
    tokens: tuple[str, int]
    known_as: str


class Gateway:
    """What one process of it runs. Any number of them may: each keeps the same papers, and writes the same words."""

    def __init__(self, client: Client, ports: Ports, directory: Path) -> None:
        """`directory` is where keys are put, for nobody else to see."""
        self._client, self._ports = client, ports
        self._manager = Manager(client)
        self._keeper = Keeper(self._manager, directory, _hosts(ports.known_as))
        self._guard = Guard(self._manager, directory)
        Bundles(self._manager, self._keeper)
        address = Address(self._manager, ports.known_as, self._keeper.authority)
        address.controller.watch(self._keeper.secrets, lambda _: [KEY])
        self._manager.serve(self._take_uploads)
        self._manager.serve(self._give_tokens)

    @property
    def certificates(self) -> dict[str, Path]:
        """The files of what it shows and of what that is signed by, by the names that figures have of them."""
        return {"gateway": self._keeper.certificate, "gateway-authority": self._keeper.signed_by}

    async def run(self, stop: asyncio.Event) -> None:
        """Serves until `stop`. Raises OSError when an address cannot be had."""
        await self._manager.run(stop)

    async def _take_uploads(self) -> None:
        await self._keeper.ready.wait()
        door = Door(Proxy(Destinations(self._client, Reach())))
        try:
            await door.open(*self._ports.uploads, self._tls())
            log.info("uploads are taken at port %d", door.port)
            await asyncio.get_running_loop().create_future()
        finally:
            await door.close()

    async def _give_tokens(self) -> None:
        await self._keeper.ready.wait()
        await self._guard.ready.wait()
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            host, port = self._ports.tokens
            await web.TCPSite(runner, host or None, port, ssl_context=self._tls(self._guard.clients)).start()
            log.info("tokens are given at port %d", port)
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()

    def _application(self) -> web.Application:
        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            # The kubelet has no certificate to show, and need not know more than that.
            return await handler(request) if request.path == READY else await self._guard.admit(request, handler)

        made = token_application(self._client, guarded)
        made.router.add_get(READY, _ready)
        return made

    def _tls(self, clients: Path | None = None) -> ssl.SSLContext:
        return ServingCertificate(self._keeper.certificate, self._keeper.key, clients).context()


async def _ready(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _hosts(known_as: str) -> list[str]:
    """The names of the Services, the one under which clients know it, and that of the end of a port-forward."""
    host = known_as.rpartition(":")[0].removeprefix("[").removesuffix("]")
    services = [SERVICE.removesuffix(".svc"), SERVICE, f"{SERVICE}.cluster.local", TOKENS]
    return list(dict.fromkeys([*services, "localhost", host]))
