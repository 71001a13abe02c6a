"""Requests to registries and web servers: kept connections, redirects, tries again."""

import copy
import http.client
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Self
from urllib.parse import urljoin

from ingot.images.blob import Bytes
from ingot.images.fault import ImageFault
from ingot.images.registry.address import Origin, check_redirect, loopback, netloc, public, sent_home, split
from ingot.images.registry.pool import Line, Pool
from ingot.images.registry.recent import Recent
from ingot.images.registry.response import Response, lost
from ingot.images.registry.retry import Absent, Busy, persist
from ingot.images.registry.settings import Settings
from ingot.images.registry.tally import REQUESTS

_MOST_REDIRECTS = 8
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
# Networks in front of servers have numbers of their own, such as 520. 501 and 505 are about what a server never does.
_BUSY = frozenset((408, 423, 425, 429, *range(500, 600))) - {501, 505}
_AGENT = "ingot"
# One who has asked a mirror should not leave it for a single lost connection.
_HASTY_TRIES = 2
# Servers that something is known of.
_MOST_KNOWN = 1024


@dataclass(frozen=True, slots=True)
class Request:
    """`subject` names it in errors. `authorization` and the headers in `private` go to the server in `url` only,
    wherever that sends us.

    `patience`: seconds to the answer's headers, where it may take longer than usual. `came`: the server that has given
    us the address, where that was not the user.
    """

    method: str
    url: str
    subject: str
    headers: Mapping[str, str] = field(default_factory=dict)
    authorization: str = field(default="", repr=False)
    private: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Bytes | None = field(default=None, repr=False)
    patience: float = 0.0
    came: Origin | None = None


class Transport:
    """For several threads at once."""

    def __init__(self, settings: Settings) -> None:
        """Raises ImageFault for settings that cannot be used."""
        self.settings = settings
        self._pool = Pool(settings)
        # Servers that are on this machine or its link, however they are called.
        self._near: Recent[Origin, bool] = Recent(_MOST_KNOWN)
        self._met: Recent[Origin, bool] = Recent(_MOST_KNOWN)

    def hasty(self, silence: float) -> Self:
        """The same with its connections, and with less patience: for those who try again by themselves."""
        other = copy.copy(self)
        other.settings = replace(
            self.settings, tries=min(self.settings.tries, _HASTY_TRIES), patience=min(self.settings.patience, silence)
        )
        return other

    def request(self, request: Request) -> Response:
        """The answer, which may be a refusal. Lost connections and busy servers (429, 5xx) are tried again, so this is
        for what may be done twice. Raises ImageFault."""
        return persist(self.settings, lambda: self.once(request))

    def once(self, request: Request) -> Response:
        """As request, tried once. GET and HEAD follow redirects."""
        origin, target = split(request.url, request.subject)
        for _ in range(_MOST_REDIRECTS):
            response = self._exchange(request, origin, target)
            if response.status in _BUSY:
                raise _busy(response)
            if response.status not in _REDIRECTS or request.method not in ("GET", "HEAD"):
                return response
            url = _location(response)
            came, (origin, target) = origin, split(url, request.subject)
            check_redirect(request.subject, came, origin, self.plain_allowed(origin))
            if came != origin:
                request = replace(request, authorization="", private={})
            request = replace(request, url=url, came=came)
        raise ImageFault(request.subject, "BadRedirect", f"it is redirected more than {_MOST_REDIRECTS} times")

    def plain_allowed(self, origin: Origin) -> bool:
        """Whether that host may be spoken to without TLS."""
        named = {origin.host, f"{origin.host}:{origin.port}", netloc(origin)}
        return loopback(origin.host) or bool(named & self.settings.insecure)

    def tidy(self) -> None:
        """Closes the connections that nobody has used for long."""
        self._pool.tidy()

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        self._pool.close()

    def _exchange(self, request: Request, origin: Origin, target: str) -> Response:
        line = self._pool.take(origin)
        try:
            return self._ask(line, request, target)
        except (OSError, http.client.HTTPException) as error:
            # A server may close a connection at the very moment at which we use it again. It may have heard a request
            # all the same, which matters where the request adds something, or would not find what it has taken away.
            closed = line.used and isinstance(error, ConnectionError | http.client.HTTPException)
            if not closed or request.method in ("PATCH", "DELETE"):
                raise self._lost(request.subject, origin, error) from None
        try:
            return self._ask(self._pool.take(origin, fresh=True), request, target)
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(request.subject, origin, error) from None

    def _ask(self, line: Line, request: Request, target: str) -> Response:
        headers = {"Accept-Encoding": "identity", "User-Agent": _AGENT, **request.private}
        headers |= {**request.headers, **line.headers}
        if request.authorization:
            headers["Authorization"] = request.authorization
        try:
            self._pool.connect(line, partial(self._admit, request, line.origin))
            socket = line.socket
            # It may have served one who has another patience.
            socket.pace(self.settings)
            line.connection.request(request.method, line.prefix + target, request.body, headers)
            socket.expect(request.patience or self.settings.patience)
            answer = line.connection.getresponse()
        except BaseException:
            REQUESTS.lost()
            line.close()
            raise
        REQUESTS.answered(answer.status)
        socket.flow()
        self._met.put(line.origin, True)
        return Response(request.subject, request.url, answer, line, socket, self._pool.give)

    def _lost(self, subject: str, origin: Origin, error: Exception) -> ImageFault:
        fault = lost(subject, error)
        silent = fault.reason in ("Unreachable", "TooSlow") and fault.retry
        return Absent(fault) if silent and origin not in self._met else fault

    def _admit(self, request: Request, origin: Origin, near: bool) -> None:
        """Raises ImageFault where a server elsewhere has sent us to this machine, by whatever name."""
        if not near:
            self._near.discard(origin)
            return
        if request.came and request.came not in self._near:
            raise sent_home(request.subject, request.came, origin)
        self._near.put(origin, True)


def _location(response: Response) -> str:
    location = response.headers.get("Location")
    response.discard()
    if not location:
        raise ImageFault(response.subject, "BadRedirect", f"{public(response.url)} redirects to nowhere")
    try:
        return urljoin(response.url, location)
    except ValueError:
        raise ImageFault(response.subject, "BadRedirect", "it redirects to what is no address") from None


def _busy(response: Response) -> Busy:
    after = _seconds(response.headers.get("Retry-After", ""))
    response.discard()
    wait = f", and asks to wait for {after:.0f} s" if after else ""
    return Busy(response.subject, f"its server answers {response.status}{wait}", after, limited=response.status == 429)


def _seconds(text: str) -> float:
    """Retry-After: seconds, or a date."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
