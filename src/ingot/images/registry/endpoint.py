"""A registry's door: its address, found out once, and requests through it."""

import copy
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self
from urllib.parse import urljoin

from ingot.images.blob import Bytes
from ingot.images.fault import ImageFault
from ingot.images.registry.address import check_redirect, split
from ingot.images.registry.auth import Auth, Scope
from ingot.images.registry.failover import REST_SECONDS
from ingot.images.registry.greeting import answers_plainly
from ingot.images.registry.response import Response
from ingot.images.registry.retry import Busy, persist
from ingot.images.registry.transport import Request, Transport

log = logging.getLogger(__name__)

_ADDRESSES = {"docker.io": "registry-1.docker.io"}
# What a server without TLS makes of our first words, and a line that breaks does, too.
_NO_TLS = frozenset(("BadTls", "ConnectionLost", "TooSlow"))
# How a server with TLS answers whoever speaks without.
_BAD_REQUEST = 400
# Faults of a server that trying again does not mend.
_OF_SERVER = frozenset(("Unreachable", "BadCertificate"))


class Endpoint:
    """One registry or mirror. For several threads at once."""

    def __init__(self, transport: Transport, auth: Auth, registry: str) -> None:
        self.transport = transport
        self.registry = registry
        self._auth = auth
        self._base = ""
        self._rests_until = 0.0
        self._lock = threading.Lock()

    def over(self, transport: Transport, auth: Auth) -> Self:
        """The same door, for requests by another transport."""
        other = copy.copy(self)
        other.transport, other._auth = transport, auth
        return other

    @property
    def resting(self) -> bool:
        """Whether it did not answer lately. Whoever has another place to ask asks there."""
        return time.monotonic() < self._rests_until

    def left(self, fault: ImageFault) -> None:
        """Another place is asked because of that fault. One that tells of the server, and not of what was asked for,
        lets it rest for a while."""
        if fault.retry or fault.reason in _OF_SERVER:
            log.warning("%s is left for %.0f s: %s", self.registry, REST_SECONDS, fault.message)
            self._rests_until = time.monotonic() + REST_SECONDS

    def send(
        self,
        method: str,
        path: str,
        scope: Scope,
        subject: str,
        headers: Mapping[str, str] | None = None,
        body: Bytes | None = None,
        patience: float = 0.0,
        send: Callable[[Request], Response] | None = None,
    ) -> Response:
        """The answer, by `Transport.request` where `send` says nothing else. `path` is what follows /v2/, or an address
        that the registry has given. Raises ImageFault."""
        url = urljoin(f"{self.base(subject)}/v2/", path)
        request = Request(method, url, subject, headers or {}, body=body, patience=patience)
        own, other = split(self.base(subject), subject)[0], split(url, subject)[0]
        if own != other:
            # Such as a storage that takes uploads: what it needs to know is in the address.
            check_redirect(subject, own, other, self.transport.plain_allowed(other))
            return (send or self.transport.request)(replace(request, came=own))
        return self._auth.send(request, scope, send or self.transport.request)

    def document(
        self, path: str, scope: Scope, subject: str, limit: int, headers: Mapping[str, str] | None = None
    ) -> tuple[Response, bytes]:
        """The answer to a GET, with the whole body of at most `limit` bytes; a refusal is left to be read. Both are
        tried again where a connection is lost. Raises ImageFault."""

        # Has its tries of its own.
        self.base(subject)

        def once() -> tuple[Response, bytes]:
            response = self.send("GET", path, scope, subject, headers, send=self.transport.once)
            return response, response.document(limit) if response.status == 200 else b""

        return persist(self.transport.settings, once)

    def base(self, subject: str) -> str:
        """https://HOST; http://HOST where that is allowed and there is no TLS. Raises ImageFault."""
        with self._lock:
            if not self._base:
                self._base = self._find(subject)
            return self._base

    def _find(self, subject: str) -> str:
        host = _ADDRESSES.get(self.registry, self.registry)
        origin, _ = split(f"https://{host}", subject)
        if not self.transport.plain_allowed(origin):
            return f"https://{host}"
        # The certificates of the machine, which take longest, are not needed to see that there is no TLS.
        if answers_plainly(origin.host, origin.port, self.transport.settings.connect):
            return f"http://{host}"
        return persist(self.transport.settings, lambda: self._answering(host, subject))

    def _answering(self, host: str, subject: str) -> str:
        """The address at which a registry answers at present. Raises ImageFault."""
        try:
            self.transport.once(Request("GET", f"https://{host}/v2/", subject)).discard()
        except Busy:
            return f"https://{host}"
        except ImageFault as fault:
            # Without a port there are two, and nobody may listen at that of TLS.
            doubtful = fault.reason in _NO_TLS or (fault.reason == "Unreachable" and ":" not in host)
            if not doubtful or not self._answers_without_tls(host, subject):
                raise
            return f"http://{host}"
        return f"https://{host}"

    def _answers_without_tls(self, host: str, subject: str) -> bool:
        """A lost connection alone is no evidence: the address is kept for as long as the process lives. Raises Busy."""
        try:
            response = self.transport.once(Request("GET", f"http://{host}/v2/", subject))
        except Busy:
            raise
        except ImageFault:
            return False
        response.discard()
        return response.status != _BAD_REQUEST and response.url.startswith("http:")
