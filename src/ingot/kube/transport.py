"""One HTTP exchange with an API server: credentials on, errors translated, retried where that is safe."""

import errno
import logging
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from ingot.api.status import ApiError
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.credentials import Credentials
from ingot.kube.kubeconfig import Config
from ingot.kube.limits import jitter

log = logging.getLogger(__name__)

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
CONNECT_SECONDS = 10.0
# kube-apiserver itself ends every request but watches and streams after 60 s.
ANSWER_SECONDS = 65.0
# For the answer to the goodbye of a WebSocket: each server on the way waits for 2 s for the next one.
GOODBYE_SECONDS = 5.0
RETRIES = 6
RETRY_CAP_SECONDS = 30.0


class ConnectionFailed(Exception):
    """No answer came. `why` is refused, unreachable, tls, closed or timeout.

    `sent` says whether the server may have got the request, and so may have done what it asks.
    """

    def __init__(self, server: str, method: str, path: str, why: str, detail: str) -> None:
        super().__init__(f"{method} {server}{path}: {why}: {detail}")
        self.server = server
        self.method = method
        self.path = path
        self.why = why
        self.detail = detail
        self.sent = why in ("closed", "timeout")

    @classmethod
    def of(cls, server: str, method: str, path: str, error: Exception) -> Self:
        """What the HTTP library or the system says, as one of our reasons."""
        return cls(server, method, path, _why(error), str(error) or type(error).__name__)


class Transport:
    """A pool of connections to the server of one Config."""

    def __init__(
        self,
        config: Config,
        *,
        user_agent: str = "ingot",
        on_warning: Callable[[str], None] = log.warning,
        clock: Clock = SYSTEM,
    ) -> None:
        self.config = config
        self._credentials = Credentials(config)
        self._user_agent = user_agent
        self._on_warning = on_warning
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A watch holds its connection, so a limit on connections would be a limit on informers.
            connector = aiohttp.TCPConnector(limit=0, socket_factory=_lively_socket)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        return self._session

    def _arguments(self, headers: Mapping[str, str]) -> dict[str, Any]:
        sent = CIMultiDict(self.config.headers)
        # Compression costs both sides more time than it saves on the networks where API servers are.
        sent.update({"User-Agent": self._user_agent, "Accept": "application/json", "Accept-Encoding": "identity"})
        sent.update(self._credentials.headers())
        sent.update(headers)
        return {
            "headers": sent,
            "ssl": self._credentials.tls(),
            "server_hostname": self.config.server_name or None,
            "proxy": self.config.proxy or None,
        }

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        seconds: float = ANSWER_SECONDS,
    ) -> bytes:
        """The body of the answer. Raises ApiError for a status of 400 and above, ConnectionFailed for none."""
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        response = await self.open(method, path, params=params, body=body, headers=headers, limits=limits)
        async with response:
            try:
                return await response.read()
            except (aiohttp.ClientError, TimeoutError) as error:
                raise self._failed(method, path, error) from error

    async def open(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        """An answer of less than 400 whose body is still to be read; the caller closes it.

        429 is sent again after the server's Retry-After, for it means that nothing was done. A 5xx with
        Retry-After and a refused connection are tried again for idempotent methods only.
        """
        url = self._url(path, params)
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._pool().request(
                    method, url, data=body, timeout=limits, **self._arguments(headers or {})
                )
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                failed = self._failed(method, path, error)
                if failed.why != "refused" or method not in IDEMPOTENT or attempt >= RETRIES:
                    raise failed from error
                await self._clock.sleep(0.05 * 2**attempt)
                continue
            for warning in response.headers.getall("Warning", ()):
                self._on_warning(_warning_text(warning))
            if response.status < 400:
                return response
            delay = _retry_delay(method, response)
            async with response:
                if delay is None or attempt >= RETRIES:
                    raise await _refusal(method, path, response)
            await self._clock.sleep(delay)

    async def websocket(
        self, path: str, *, params: Mapping[str, str] | None = None, protocols: Sequence[str] = ()
    ) -> aiohttp.ClientWebSocketResponse:
        """An open WebSocket, for exec, console and the like; the caller closes it. Raises as `request` does."""
        try:
            opened: aiohttp.ClientWebSocketResponse = await self._pool().ws_connect(
                self._url(path, params),
                protocols=protocols,
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=GOODBYE_SECONDS),
                **self._arguments({}),
            )
        except aiohttp.WSServerHandshakeError as error:
            # aiohttp keeps the answer to itself. Asked without an upgrade, the server says why it refuses.
            await self.request("GET", path, params=params, seconds=CONNECT_SECONDS)
            raise ApiError(error.status, "", f"GET {path}: no WebSocket: {error.message}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._failed("GET", path, error) from error
        return opened

    def _url(self, path: str, params: Mapping[str, str] | None) -> URL:
        query = f"?{urlencode(params)}" if params else ""
        return URL(f"{self.config.server}{path}{query}", encoded=True)

    def _failed(self, method: str, path: str, error: Exception) -> ConnectionFailed:
        return ConnectionFailed.of(self.config.server, method, path, error)


def _why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return "tls"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "refused" if error.os_error.errno == errno.ECONNREFUSED else "unreachable"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "unreachable"
    return "timeout" if isinstance(error, TimeoutError) else "closed"


def _lively_socket(info: Any) -> socket.socket:
    """A socket that notices within a minute that its peer is gone; a watch may be silent for longer."""
    family, kind, protocol, _, _ = info
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def _retry_delay(method: str, response: aiohttp.ClientResponse) -> float | None:
    """Seconds until the same request may be sent again; None if it may not."""
    if response.status != 429 and not (response.status >= 500 and method in IDEMPOTENT):
        return None
    after = response.headers.get("Retry-After", "")
    if not after.isdigit():
        return None
    return jitter(min(int(after), RETRY_CAP_SECONDS))


def _warning_text(header: str) -> str:
    """The text of `299 - "text"`."""
    parts = header.split('"', 1)
    return parts[1].rsplit('"', 1)[0].replace('\\"', '"') if len(parts) == 2 else header


async def _refusal(method: str, path: str, response: aiohttp.ClientResponse) -> ApiError:
    try:
        body = await response.read()
    except (aiohttp.ClientError, TimeoutError):
        body = b""
    try:
        status = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return ApiError.from_status(status, response.status)
    text = body[:200].decode(errors="replace").strip() or response.reason or "no more information"
    return ApiError(response.status, "", f"{method} {path}: HTTP {response.status}: {text}")
