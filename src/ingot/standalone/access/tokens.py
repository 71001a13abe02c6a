"""Bearer tokens: those of service accounts, which the server signs, and the administrator's, which is a file."""

import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.host.files import write_atomically
from ingot.standalone.access import jwt
from ingot.standalone.access.claims import Claims, InvalidToken, check_existence, check_time
from ingot.standalone.access.user import ADMIN, MASTERS, User, service_account_name
from ingot.standalone.goprint import quote_all

ISSUER = "https://kubernetes.default.svc"
_CACHED = 4096

# (storage name of the kind, namespace, name) → the object, or None.
Get = Callable[[str, str, str], Object | None]


class TokenIssuer:
    """Tokens of service accounts, as kube-apiserver's TokenRequest makes them.

    A token dies with its service account, and with the object that it is bound to: `get` is asked at every use.
    """

    def __init__(
        self,
        key: ec.EllipticCurvePrivateKey,
        get: Get,
        issuer: str = ISSUER,
        audiences: Sequence[str] = (),
    ) -> None:
        self.issuer = issuer
        self.audiences = tuple(audiences) or (issuer,)
        self._signer = jwt.Signer(key)
        self._get = get
        # Verifying a signature takes a hundred times as long as all else; a good one stays good.
        self._verified: dict[str, tuple[Claims, User]] = {}

    def issue(
        self,
        account: Object,
        *,
        audiences: Sequence[str] = (),
        seconds: int = 3600,
        warn_after: int = 0,
        bound: Mapping[str, Object] | None = None,
        now: float | None = None,
    ) -> str:
        """A token for `account`. `bound` names the objects it is bound to by kind: `{"pod": …, "node": …}`."""
        start = int(time.time() if now is None else now)
        claim: Object = {"namespace": namespace_of(account), "serviceaccount": _reference(account)}
        claim.update((kind, _reference(obj)) for kind, obj in (bound or {}).items())
        if warn_after:
            claim["warnafter"] = start + warn_after
        return self._signer.sign(
            {
                "aud": list(audiences) or list(self.audiences),
                "exp": start + seconds,
                "iat": start,
                "iss": self.issuer,
                "jti": str(uuid.uuid4()),
                "kubernetes.io": dict(sorted(claim.items())),
                "nbf": start,
                "sub": service_account_name(namespace_of(account), name_of(account)),
            }
        )

    def verify(
        self, token: str, audiences: Sequence[str] | None = None, now: float | None = None
    ) -> tuple[User, tuple[str, ...]]:
        """The user of a good token, and those of `audiences` that it is for; raises InvalidToken."""
        claims, user = self._known(token)
        wanted = self.audiences if audiences is None else audiences
        given = claims.audiences() or self.audiences
        shared = tuple(audience for audience in given if audience in wanted)
        if not shared:
            raise InvalidToken(
                f"token audiences {quote_all(given)} is invalid for the target audiences {quote_all(wanted)}"
            )
        moment = time.time() if now is None else now
        check_time(claims, moment)
        check_existence(claims, self._get, moment)
        return user, shared

    def _known(self, token: str) -> tuple[Claims, User]:
        known = self._verified.get(token)
        if known is None:
            claims = self._decode(token)
            if len(self._verified) >= _CACHED:
                self._verified.clear()
            known = self._verified[token] = (claims, claims.user())
        return known

    def _decode(self, token: str) -> Claims:
        try:
            _, payload, _ = token.split(".")
            claims = msgspec.json.decode(jwt.decode(payload), type=Claims)
            if claims.iss != self.issuer:
                raise InvalidToken("")
            self._signer.verify(token)
        except jwt.BadSignature as error:
            raise InvalidToken(error.why) from error
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            raise InvalidToken("") from error
        return claims


class Tokens:
    """Every bearer token that the server accepts. `static` are those that name their user without a signature."""

    def __init__(self, issuer: TokenIssuer, static: Mapping[str, User]) -> None:
        self.issuer = issuer
        self._static = {token: user.authenticated() for token, user in static.items()}

    def verify(self, token: str, audiences: Sequence[str] | None = None) -> tuple[User, tuple[str, ...]]:
        """The user of a good token and the audiences it is good for; raises InvalidToken."""
        user = self._static.get(token)
        if user is not None:
            wanted = self.issuer.audiences if audiences is None else audiences
            shared = tuple(audience for audience in self.issuer.audiences if audience in wanted)
            if shared:
                return user, shared
        try:
            return self.issuer.verify(token, audiences)
        except InvalidToken as error:
            why = "invalid bearer token"
            raise InvalidToken(f"[{why}, {error.why}]" if error.why else why) from error


def admin_tokens(path: Path) -> dict[str, User]:
    """The administrator's token, made on the first call and kept in `path`, 0600."""
    try:
        token = path.read_text(encoding="ascii").strip()
        path.chmod(0o600)
    except FileNotFoundError:
        token = ""
    if not token:
        token = secrets.token_urlsafe(32)
        write_atomically(path, f"{token}\n".encode())
    return {token: User(ADMIN, groups=(MASTERS,))}


def _reference(obj: Object) -> Object:
    """A node that a pod names but that is gone has no uid."""
    uid = uid_of(obj)
    return {"name": name_of(obj), "uid": uid} if uid else {"name": name_of(obj)}
