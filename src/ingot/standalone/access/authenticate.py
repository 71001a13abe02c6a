"""Who sends a request: from its client certificate, its bearer token, or nobody."""

import time
from collections.abc import Iterable

from cryptography import x509
from cryptography.x509.oid import NameOID

from ingot.api.status import unauthorized
from ingot.standalone.access import jwt
from ingot.standalone.access.certificates import fingerprint
from ingot.standalone.access.claims import InvalidToken
from ingot.standalone.access.impersonation import PREFIX, impersonated
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.access.tokens import Tokens
from ingot.standalone.access.user import CREDENTIAL_ID, NOBODY, User

# A browser cannot set the Authorization header of a WebSocket, so Kubernetes takes the token as a subprotocol.
_SUBPROTOCOL = "base64url.bearer.authorization.k8s.io."
_CERTIFICATES = 1024


class Authenticator:
    """Finds the user of each request, and lets those who may act as another."""

    def __init__(self, tokens: Tokens, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._authorizer = authorizer
        self._certificates: dict[bytes, tuple[User | None, float]] = {}

    def authenticate(
        self, headers: Iterable[tuple[str, str]], certificate: bytes | None = None, path: str = ""
    ) -> User:
        """The user of a request; raises 401 for credentials that are no good, 403 for a forbidden impersonation.

        `certificate` is the client certificate in DER, which TLS has already verified against our authority.
        Without any credential the user is system:anonymous.
        """
        authorization = protocols = upgrade = ""
        impersonation: list[tuple[str, str]] = []
        for name, value in headers:
            key = name.lower()
            if key == "authorization":
                authorization = authorization or value
            elif key == "upgrade":
                upgrade = value
            elif key == "sec-websocket-protocol":
                protocols = f"{protocols},{value}" if protocols else value
            elif key.startswith(PREFIX):
                impersonation.append((key.removeprefix(PREFIX), value))
        user = self._of_certificate(certificate) if certificate else None
        if user is None:
            user = self._of_tokens(authorization, protocols if upgrade.lower() == "websocket" else "")
        if user is None:
            if certificate and self._expired(certificate):
                raise unauthorized()
            user = NOBODY
        return impersonated(user, impersonation, path, self._authorizer) if impersonation else user

    def _of_certificate(self, der: bytes) -> User | None:
        known = self._certificates.get(der)
        if known is None:
            if len(self._certificates) >= _CERTIFICATES:
                self._certificates.clear()
            known = self._certificates[der] = user_of_certificate(der)
        user, expires = known
        return user if time.time() <= expires else None

    def _expired(self, der: bytes) -> bool:
        return time.time() > self._certificates[der][1]

    def _of_tokens(self, authorization: str, protocols: str) -> User | None:
        """The user of the first good token; None without a token; raises 401 when none is good."""
        bearer, protocol = _bearer_token(authorization), _protocol_token(protocols)
        given = [token for token in (bearer, protocol) if token]
        for token in given:
            try:
                return self._tokens.verify(token)[0]
            except InvalidToken:
                continue
        if given:
            raise unauthorized()
        return None


def user_of_certificate(der: bytes) -> tuple[User | None, float]:
    """The user that a verified certificate names, if it has a common name, and when it expires."""
    certificate = x509.load_der_x509_certificate(der)
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    expires = certificate.not_valid_after_utc.timestamp()
    if not names or not names[-1].value:
        return None, expires
    extra = {CREDENTIAL_ID: (f"X509SHA256={fingerprint(der)}",)}
    user = User(str(names[-1].value), "", tuple(str(group.value) for group in groups), extra)
    return user.authenticated(), expires


def _bearer_token(authorization: str) -> str:
    """The token of `Bearer TOKEN`; "" for another scheme, which Kubernetes takes as no credential at all."""
    parts = authorization.strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def _protocol_token(protocols: str) -> str:
    """The token among WebSocket subprotocols. Raises 401 for one that cannot be read, is doubled or stands alone."""
    if _SUBPROTOCOL not in protocols:
        return ""
    offered = [protocol.strip() for protocol in protocols.split(",")]
    tokens = [protocol.removeprefix(_SUBPROTOCOL) for protocol in offered if protocol.startswith(_SUBPROTOCOL)]
    if len(tokens) != 1 or len(offered) < 2:
        raise unauthorized()
    try:
        return jwt.decode(tokens[0]).decode()
    except ValueError as error:
        raise unauthorized() from error
