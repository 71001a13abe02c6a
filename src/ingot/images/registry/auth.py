"""Who we are to a registry: anonymous, a user with a password, or the bearer of a token."""

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import urlencode

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.registry import credentials
from ingot.images.registry.address import Origin, check_redirect, netloc, public, split
from ingot.images.registry.challenge import Challenge, parse_challenges
from ingot.images.registry.credentials import Credentials
from ingot.images.registry.recent import Recent
from ingot.images.registry.refusal import LOG_IN, refusal
from ingot.images.registry.response import Response
from ingot.images.registry.retry import persist
from ingot.images.registry.transport import Request, Transport

_MOST_BYTES = 1 << 18
_LONGEST_TOKEN = 1 << 15
# What a token lasts where its server does not say, and what is left of one that is not used any more.
_USUAL_SECONDS = 60
_MARGIN = 10
# A pass may have 32 KiB. One that is asked for once more costs a request.
_MOST_PASSES, _MOST_CHALLENGES = 64, 256


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""
    expires_in: int | float | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What is wanted of a registry: `actions` such as pull in `repository`; `also` a repository to mount from."""

    registry: str
    repository: str
    actions: str
    also: str = ""

    @property
    def texts(self) -> list[str]:
        if not self.repository:
            return ["registry:catalog:*"]
        wanted = [f"repository:{self.repository}:{self.actions}"]
        return [*wanted, f"repository:{self.also}:pull"] if self.also else wanted


@dataclass(frozen=True, slots=True)
class _Pass:
    """`owner`: what we have shown of us to get it, without the secret; "" where that was nothing."""

    authorization: str = field(repr=False)
    until: float
    owner: str


class Challenges(Recent[tuple[str, Origin], Challenge]):
    """What registries want to see, by their names and by who answers. It may be shared by those who trust the same
    servers, and outlive them."""

    def __init__(self) -> None:
        super().__init__(_MOST_CHALLENGES)


class Auth:
    """Adds to requests what their registry wants to see. For several threads at once."""

    def __init__(self, transport: Transport, challenges: Challenges) -> None:
        self._transport = transport
        self._passes: Recent[Scope, _Pass] = Recent(_MOST_PASSES)
        self._challenges = challenges
        # Held while the pass of that scope is asked for, which takes as long as its server likes.
        self._turns: Recent[Scope, threading.Lock] = Recent(_MOST_PASSES)

    def over(self, transport: Transport) -> Self:
        """The same, and what it was given, for requests by another transport."""
        other = copy.copy(self)
        other._transport = transport
        return other

    def send(self, request: Request, scope: Scope, send: Callable[[Request], Response]) -> Response:
        """The registry's answer by `send`; after a refusal with a challenge once more, with what was asked for.

        Raises ImageFault.
        """
        origin, _ = split(request.url, request.subject)
        known = self._known(scope, origin, request.subject)
        response = send(replace(request, authorization=known))
        if response.status != 401:
            return response
        _check_origin(response, origin)
        challenges = parse_challenges(response.headers.get_all("WWW-Authenticate") or [])
        chosen = next((each for each in challenges if each.scheme in ("bearer", "basic")), None)
        if chosen is None:
            return response
        response.discard()
        with self._turns.made(scope, threading.Lock):
            there = self._passes.get(scope)
            if there is None or there.authorization == known:
                self._challenges.put((scope.registry, origin), chosen)
                there = self._passes.put(scope, self._obtain(chosen, scope, origin, request.subject))
        response = send(replace(request, authorization=there.authorization))
        if response.status == 401:
            _check_origin(response, origin)
        if response.status == 401 and there.owner:
            raise refusal(response, f"{scope.registry} refuses {there.owner}")
        return response

    def _known(self, scope: Scope, origin: Origin, subject: str) -> str:
        """What was given before; renewed, where that is over."""
        there = self._passes.get(scope)
        if there and there.until > time.monotonic():
            return there.authorization
        challenge = self._challenges.get((scope.registry, origin))
        if challenge is None:
            return ""
        with self._turns.made(scope, threading.Lock):
            there = self._passes.get(scope)
            if there is None or there.until <= time.monotonic():
                try:
                    there = self._passes.put(scope, self._obtain(challenge, scope, origin, subject))
                except ImageFault as fault:
                    # The challenge may have been of another repository: this one may want nothing of us.
                    if fault.retry:
                        raise
                    return ""
            return there.authorization

    def _obtain(self, challenge: Challenge, scope: Scope, origin: Origin, subject: str) -> _Pass:
        # Read anew each time: what is in the files, or what a helper says, may be of short life itself.
        settings = self._transport.settings
        found = settings.logins.get(scope.registry)
        found = found or credentials.find(settings.auth_files, scope.registry, scope.repository)
        if challenge.scheme == "basic":
            if found is None:
                raise ImageFault(subject, "Unauthorized", self._lacking(scope.registry))
            return _Pass(found.basic, time.monotonic() + 3600, str(found))
        return self._token(challenge, scope, origin, found, subject)

    def _lacking(self, registry: str) -> str:
        asked = ", ".join(map(str, self._transport.settings.auth_files))
        none = f", and there is none for it in {asked}" if asked else ""
        return f"{registry} wants a user and a password{none}: {LOG_IN}"

    def _token(
        self, challenge: Challenge, scope: Scope, registry: Origin, found: Credentials | None, subject: str
    ) -> _Pass:
        realm = challenge.parameters.get("realm", "")
        origin, _ = split(realm, subject)
        plain = self._transport.plain_allowed(origin)
        check_redirect(subject, registry, origin, plain)
        if origin.scheme == "http" and not plain:
            raise ImageFault(subject, "BadChallenge", f"its token server {origin.host} has no TLS, which is not safe")
        service = challenge.parameters.get("service", "")
        fields = [("service", service)] if service else []
        fields += [("scope", text) for text in scope.texts]
        before = time.monotonic()
        request = replace(_token_request(realm, fields, found, subject), came=registry)
        who = str(found) if found else f"strangers: {LOG_IN}"
        body = persist(self._transport.settings, lambda: self._ask(request, who))
        token, seconds = _read(body, subject)
        return _Pass(f"Bearer {token}", before + max(seconds - _MARGIN, seconds / 2), str(found or ""))

    def _ask(self, request: Request, who: str) -> bytes:
        response = self._transport.once(request)
        if response.status == 200:
            return response.document(_MOST_BYTES)
        response.discard()
        why = f"{public(request.url)} answers {response.status}, and gives no token to {who}"
        raise ImageFault(request.subject, "Unauthorized", why)


def _check_origin(response: Response, asked: Origin) -> None:
    """Raises ImageFault for a refusal by another server than the one that was asked: a challenge of it must not be
    answered, for then a redirect would be enough to learn a registry's password."""
    origin, _ = split(response.url, response.subject)
    if origin != asked:
        own, other = netloc(asked), netloc(origin)
        raise refusal(response, f"{own} sends us to {other}, which wants credentials: those for {own} go nowhere else")


def _token_request(realm: str, fields: list[tuple[str, str]], found: Credentials | None, subject: str) -> Request:
    if found and found.token:
        # The token is a secret: it goes into the body, and not into an address, which servers write down.
        form = [*fields, ("grant_type", "refresh_token"), ("client_id", "ingot"), ("refresh_token", found.token)]
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return Request("POST", realm, subject, headers, body=urlencode(form).encode())
    mark = "&" if "?" in realm else "?"
    url = f"{realm}{mark}{urlencode(fields)}" if fields else realm
    return Request("GET", url, subject, authorization=found.basic if found else "")


def _read(data: bytes, subject: str) -> tuple[str, float]:
    try:
        answer = msgspec.json.decode(data, type=_Token, strict=False)
    except (msgspec.MsgspecError, RecursionError):
        raise ImageFault(subject, "BadToken", "its token server answers what is no token") from None
    token = answer.token or answer.access_token
    if not token or len(token) > _LONGEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ImageFault(subject, "BadToken", "its token server answers a token that cannot be sent")
    seconds = answer.expires_in or _USUAL_SECONDS
    return token, min(max(float(seconds), 1.0), 86400.0)
