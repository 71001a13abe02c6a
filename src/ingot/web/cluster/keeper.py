"""Keeps the papers of the gateway in their Secret, and what the server shows of them in files."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object
from ingot.api.resources import SECRETS
from ingot.api.status import ApiError
from ingot.host.files import write_atomically
from ingot.kube.cache import Key
from ingot.kube.controller import Controller, Final, Result
from ingot.kube.manager import Manager
from ingot.web.cluster.papers import Papers

log = logging.getLogger(__name__)

NAME = "ingot-gateway-tls"
KEY = Key(SYSTEM_NAMESPACE, NAME)
_LOOK_AGAIN_SECONDS = 12 * 3600.0


class Keeper:
    """Makes the Secret where it is not there, and renews it in time; any number of gateways may do so at once.

    `certificate` and `key` are the files of what this gateway shows, and `signed_by` that of its authority; `ready` is
    set when they are there.
    """

    def __init__(self, manager: Manager, directory: Path, hosts: Sequence[str]) -> None:
        self._client = manager.client
        self.secrets = manager.informer(SECRETS, SYSTEM_NAMESPACE, field_selector=f"metadata.name={NAME}")
        self._hosts = list(hosts)
        self.certificate, self.key = directory / "tls.crt", directory / "tls.key"
        self.signed_by = directory / "ca.crt"
        self.ready = asyncio.Event()
        controller = Controller("gateway-papers", self.reconcile).watch(self.secrets)
        controller.queue.add(KEY)
        manager.add(controller)

    def authority(self) -> str:
        """Whom to trust, in PEM; "" while that is not known."""
        secret = self.secrets.cache.get(KEY)
        try:
            return Papers.read(secret).authority.certificate_pem.decode() if secret else ""
        except ValueError:
            return ""

    async def reconcile(self, key: Key) -> Result | None:
        if key != KEY:
            return None
        secret = self.secrets.cache.get(KEY) or await self._made()
        papers = _papers(secret)
        good = papers.renewed(self._hosts)
        if good is not papers:
            await self._replace(secret, good)
        self._show(good)
        return Result(requeue_after=_LOOK_AGAIN_SECONDS)

    async def _made(self) -> Object:
        wanted = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME, "namespace": SYSTEM_NAMESPACE}}
        try:
            return await self._client.create(SECRETS, {**wanted, "data": Papers.new(self._hosts).data()})
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return await self._client.get(SECRETS, NAME, SYSTEM_NAMESPACE)

    async def _replace(self, secret: Object, papers: Papers) -> None:
        """Of two gateways that renew at once the second is refused, and takes what the first has made."""
        version = secret["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "data": papers.data()}
        await self._client.patch(SECRETS, NAME, patch, SYSTEM_NAMESPACE)
        log.info("Secret %s has a new certificate", KEY)

    def _show(self, papers: Papers) -> None:
        for file, content in (
            (self.signed_by, papers.authority.certificate_pem),
            (self.key, papers.server.key_pem),
            (self.certificate, papers.server.certificate_pem),
        ):
            if not file.exists() or file.read_bytes() != content:
                write_atomically(file, content)
        self.ready.set()


def _papers(secret: Object) -> Papers:
    try:
        return Papers.read(secret)
    except ValueError as error:
        raise Final(f"Secret {KEY} cannot be used: {error}; delete it, and one is made") from error
