"""Connections: what each may cost, in bytes and in time, before a request is there and while an answer is unread."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.web_protocol import RequestHandler
from yarl._url import build_pre_encoded_url

from ingot.standalone.remember import LONGEST

# As Go's servers: the request line and all headers together.
MAX_HEADER = 1 << 20
MAX_FIELDS = 1000
# What a connection may leave unread before its answers wait: small, for there may be hundreds of connections.
UNREAD_HIGH = 128 << 10
UNREAD_LOW = 32 << 10
TOO_LARGE = "431 Request Header Fields Too Large"
# So long is read, and thrown away, what follows a refusal: a client that still sends would not see it otherwise.
LINGER_SECONDS = 0.5
Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a client that keeps us waiting is hung up on.

    `header`: from a request's first byte to the end of its headers; kube-apiserver's own.
    `idle`: between requests. Go's clients hang up after 90, and should be first.
    `unread`: until what fills the buffer of unread answers has been taken.
    """

    header: float = 32.0
    idle: float = 120.0
    unread: float = 30.0


PATIENCE = Patience()


class Connection(RequestHandler):
    """One client's connection. Watches may be silent for as long as they like; only unread bytes have a deadline."""

    __slots__ = ("_clock", "_headers_so_far", "_patience", "_reading_until", "_writing_until")

    def __init__(self, manager: web.Server, patience: Patience, **options: Any) -> None:
        # No line is too long before all of them are: their sum is what is limited, here.
        limits: dict[str, Any] = {
            "max_line_size": 2 * MAX_HEADER,
            "max_field_size": 2 * MAX_HEADER,
            "max_headers": MAX_FIELDS,
            "keepalive_timeout": patience.idle,
            # Nobody makes us unpack what comes before it is known who sends it, and what is handed on is as it came.
            "auto_decompress": False,
        }
        super().__init__(manager, **limits, **options)
        self._clock: asyncio.AbstractEventLoop = options["loop"]
        self._patience = patience
        self._headers_so_far = 0
        self._reading_until: asyncio.TimerHandle | None = None
        self._writing_until: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        self.transport.set_write_buffer_limits(UNREAD_HIGH, UNREAD_LOW)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._headers_end()
        self._unread_end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses, and counts what is the beginning of a request: aiohttp limits its lines, not their sum."""
        seen = self._request_count
        super().data_received(data)
        if self._request_count != seen or not self._in_headers():
            self._headers_end()
            return
        self._headers_so_far += len(data)
        if self._headers_so_far > MAX_HEADER:
            self._refuse()
        elif self._reading_until is None and self._current_request is None:
            self._reading_until = self._clock.call_later(self._patience.header, self._late)

    def _idle(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _in_headers(self) -> bool:
        """Whether bytes that come now belong to the headers of a request: the one before has had its body."""
        if self._upgraded or self._payload_parser is not None:
            return False
        if self._current_request is not None:
            return self._current_request.content.is_eof()
        # The first bytes may be there before the task that waits for requests runs.
        return self._idle() or self._request_count == 0

    def _headers_end(self) -> None:
        self._headers_so_far = 0
        if self._reading_until:
            self._reading_until.cancel()
            self._reading_until = None

    def _late(self) -> None:
        self._reading_until = None
        if self._idle():
            self._hang_up()

    def _refuse(self) -> None:
        """Says why, as Go does, where nothing else is being answered, and hangs up."""
        if not self._idle() or self.transport is None:
            self.force_close()
            return
        head = f"HTTP/1.1 {TOO_LARGE}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        self.transport.write(f"{head}{TOO_LARGE}".encode())
        self.close()
        self._clock.call_later(LINGER_SECONDS, self.force_close)

    def pause_writing(self) -> None:
        super().pause_writing()
        # Terminals may be stopped by hand; those who serve them wait.
        if not self._upgraded:
            self._writing_until = self._clock.call_later(self._patience.unread, self._hang_up)

    def resume_writing(self) -> None:
        self._unread_end()
        super().resume_writing()

    def _unread_end(self) -> None:
        if self._writing_until:
            self._writing_until.cancel()
            self._writing_until = None

    def _hang_up(self) -> None:
        """Ends at once: a TLS connection that is closed politely waits half a minute for the client to agree."""
        self._writing_until = None
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Refuses what is no HTTP request, as Go does. Any stranger may send that, so it is not logged."""
        if status != 400:
            return super().handle_error(request, status, exc, message)
        refusal = web.Response(status=status, text="400 Bad Request")
        refusal.force_close()
        return refusal


class Connections(web.Server):
    """Makes a Connection of everyone who connects. What runs for a client ends with its connection."""

    def __init__(self, handler: Handle, max_body: int, patience: Patience = PATIENCE) -> None:
        super().__init__(handler, request_factory=self._request, handler_cancellation=True, access_log=None)
        self._max_body = max_body
        self._patience = patience

    def __call__(self) -> RequestHandler:
        return Connection(self, self._patience, loop=self._loop, **self._kwargs)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        if len(message.path) > LONGEST:
            # yarl keeps the last URLs with everything read from them: for these that would be many megabytes.
            build_pre_encoded_url.cache_clear()
        limit = self._max_body
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=limit)
