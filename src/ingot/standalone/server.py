"""The API server of one machine: everything put together, started and stopped."""

import asyncio
import gc
import sys
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from cryptography import x509

from ingot.api.cdi import surroundings
from ingot.api.lookup import answered
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES
from ingot.standalone.access import demands, escalation, pki, tokens
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.authenticate import Authenticator
from ingot.standalone.access.bindings import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from ingot.standalone.access.kubeconfig import server_url, write_kubeconfig
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.access.reviews import Reviews
from ingot.standalone.builtin.admission import Lookup
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.http.aggregate import Extension
from ingot.standalone.http.connection import Connections
from ingot.standalone.http.documents import Documents
from ingot.standalone.http.handler import Handler
from ingot.standalone.http.verbs import MAX_BODY, Verbs
from ingot.standalone.jsontext import decode
from ingot.standalone.lifecycle import bootstrap
from ingot.standalone.lifecycle.collector import Collector
from ingot.standalone.lifecycle.customs import KEY as CUSTOMS
from ingot.standalone.lifecycle.customs import Customs, refuse_webhook
from ingot.standalone.lifecycle.namespaces import Namespaces
from ingot.standalone.lifecycle.nodes import Nodes
from ingot.standalone.lifecycle.protection import Protection
from ingot.standalone.lifecycle.roles import Roles
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.world import Guard, World
from ingot.standalone.resources.catalog import Catalog
from ingot.standalone.store.history import Change
from ingot.standalone.store.store import Store

RBAC_KEYS = (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
# A bound object may nest as deep as a body may; each level costs a few frames of Python.
RECURSION = 10_000
# The writer thread asks for the interpreter a few times in each commit; Python's 5 ms would be most of its time.
SWITCH_SECONDS = 0.0005
SHUTDOWN_SECONDS = 1.0
RENEWAL_SECONDS = 12 * 3600.0


class Server:
    """Serves the Kubernetes API from one directory. The caller holds the directory's lock."""

    def __init__(self, directory: Path, host: str, port: int, extension: Path | None = None) -> None:
        """With `extension`, the socket of the server of subresources.kubevirt.io, that group is served too."""
        self.directory = directory
        self._extension = Extension(extension) if extension else None
        self.host = host
        self.port = port
        self._policy_version = 0
        self._ready = False
        self._runner: web.ServerRunner | None = None
        self._workers: list[Worker[str] | Worker[tuple[str, str, str]]] = []

    @property
    def address(self) -> str:
        return server_url(self.host, self.port)

    async def start(self) -> None:
        """Returns when requests are answered and D/kubeconfig names the address."""
        sys.setrecursionlimit(RECURSION)
        sys.setswitchinterval(SWITCH_SECONDS)
        keys = pki.ensure(self.directory / "pki", [self.host])
        self._store = Store(self.directory / "ingot.db")
        self._store.listen(self._on_change)
        authorizer = Authorizer(self._objects, lambda: self._policy_version)
        issuer = tokens.TokenIssuer(keys.signing_key, self._get)
        bearers = tokens.Tokens(issuer, tokens.admin_tokens(self.directory / "token"))
        world = World(
            self._store, Catalog(DEFINITIONS), _guards(authorizer, self._latest), Lookup(self._latest, self._objects)
        )
        self._verbs = Verbs(world, Reviews(authorizer, bearers, self._get))
        customs = Customs(world)
        await bootstrap.furnish(world)
        if self._extension:
            await bootstrap.admit_users(world)
        namespaces = Namespaces(world, keys.authority_pem)
        self._workers = [customs, namespaces, Nodes(world), Protection(world), Roles(world), Collector(world)]
        for worker in self._workers:
            worker.start()
        documents = Documents(world.catalog, lambda: self._ready, extended=self._extension is not None)
        authenticator = Authenticator(bearers, authorizer)
        handler = Handler(authenticator, authorizer, documents, self._verbs, self._extension)
        self._tls = keys.server_context()
        await self._listen(handler)
        write_kubeconfig(self.directory / "kubeconfig", keys, self.address)
        self._renewal = asyncio.create_task(self._renew(keys))
        # What a start leaves in memory stays: the collector need not look at it again, which it would for 40 ms.
        gc.collect()
        gc.freeze()
        self._ready = True

    async def _renew(self, keys: pki.Pki) -> None:
        """Takes new certificates into use long before the old ones expire, for as long as the server runs."""
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            newest = pki.ensure(self.directory / "pki", [self.host])
            if _certificates(newest) != _certificates(keys):
                keys = newest
                self._tls.load_cert_chain(self.directory / "pki" / "server.pem")
                self._tls.load_verify_locations(cadata=keys.authority_pem.decode())
                write_kubeconfig(self.directory / "kubeconfig", keys, self.address)

    async def _listen(self, handler: Handler) -> None:
        self._runner = web.ServerRunner(Connections(handler, MAX_BODY), shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port, ssl_context=self._tls, backlog=512)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Ends watches, finishes the writes on their way and closes the store."""
        self._ready = False
        self._renewal.cancel()
        self._verbs.end_watches()
        for worker in self._workers:
            await worker.stop()
        if self._runner:
            await self._runner.cleanup()
        self._store.close()

    def _on_change(self, change: Change) -> None:
        if change.resource in RBAC_KEYS:
            self._policy_version += 1

    def _objects(self, key: str) -> list[Object]:
        return [decode(entry.value) for entry in self._store.collection(key)]

    def _latest(self, key: str, namespace: str, name: str) -> Object | None:
        entry = self._store.latest(key, namespace, name)
        return decode(entry.value) if entry else None

    def _get(self, key: str, namespace: str, name: str) -> Object | None:
        entry = self._store.get(key, namespace, name)
        return decode(entry.value) if entry else None


def _certificates(keys: pki.Pki) -> list[x509.Certificate]:
    return [pair.certificate for pair in (keys.authority, keys.server, keys.admin)]


def _guards(authorizer: Authorizer, latest: Callable[[str, str, str], Object | None]) -> dict[str, Guard]:
    def read(kind: Resource, namespace: str, name: str) -> Object | None:
        return latest(kind.qualified, namespace, name)

    def check_grant(call: Call, new: Object, old: Object | None) -> None:
        escalation.check(authorizer, call.user, _request(call), new, old)

    def check_demands(call: Call, new: Object, old: Object | None) -> None:
        stored = call.served.to_storage
        before = stored(old) if old is not None else None
        demands.check(authorizer, call.user, _request(call), stored(new), before, read)

    def check_volume(call: Call, new: Object, old: Object | None) -> None:
        check_demands(call, new, old)
        if old is None:
            answered(surroundings.check(new, call.namespace), read)

    return {
        **dict.fromkeys(RBAC_KEYS, check_grant),
        **dict.fromkeys(demands.KINDS, check_demands),
        DATA_VOLUMES.qualified: check_volume,
        CUSTOMS: refuse_webhook,
    }


def _request(call: Call) -> Attributes:
    served, definition = call.served, call.served.definition
    return Attributes(
        call.verb, definition.group, served.version.name, definition.plural, "", call.namespace, call.name
    )
