"""What the token of a service account says, and whether it still holds."""

from collections.abc import Callable
from datetime import datetime

import msgspec

from ingot.api.object import Object, uid_of
from ingot.standalone.access.user import (
    CREDENTIAL_ID,
    NODE_NAME,
    NODE_UID,
    POD_NAME,
    POD_UID,
    User,
    service_account_groups,
    service_account_name,
)

# Clocks of issuer and reader may differ by this much; Kubernetes allows the same.
LEEWAY = 60
_INVALIDATED = "service account token has been invalidated"


class InvalidToken(Exception):
    """The token opens nothing. `why` is for reviews and logs; "" when it is no token of ours at all."""

    def __init__(self, why: str) -> None:
        super().__init__(why or "not a token of this server")
        self.why = why


class Reference(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class Kubernetes(msgspec.Struct, frozen=True):
    """The private claim `kubernetes.io`."""

    namespace: str = ""
    serviceaccount: Reference = Reference()
    pod: Reference | None = None
    secret: Reference | None = None
    node: Reference | None = None


class Claims(msgspec.Struct, frozen=True):
    iss: str = ""
    aud: str | list[str] = []
    exp: float | None = None
    nbf: float | None = None
    iat: float | None = None
    jti: str = ""
    kubernetes: Kubernetes = msgspec.field(default=Kubernetes(), name="kubernetes.io")

    def audiences(self) -> tuple[str, ...]:
        return (self.aud,) if isinstance(self.aud, str) else tuple(self.aud)

    def user(self) -> User:
        """The service account, in the groups that every one is in."""
        claim = self.kubernetes
        user = User(
            service_account_name(claim.namespace, claim.serviceaccount.name),
            claim.serviceaccount.uid,
            service_account_groups(claim.namespace),
            self._extra(),
        )
        return user.authenticated()

    def _extra(self) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        if self.jti:
            extra[CREDENTIAL_ID] = (f"JTI={self.jti}",)
        if self.kubernetes.pod is not None:
            extra[POD_NAME] = (self.kubernetes.pod.name,)
            extra[POD_UID] = (self.kubernetes.pod.uid,)
        if self.kubernetes.node is not None:
            extra[NODE_NAME] = (self.kubernetes.node.name,)
            if self.kubernetes.node.uid:
                extra[NODE_UID] = (self.kubernetes.node.uid,)
        return extra


def check_time(claims: Claims, now: float) -> None:
    if claims.nbf is not None and now + LEEWAY < claims.nbf:
        raise InvalidToken("service account token is not valid yet")
    if claims.exp is not None and now - LEEWAY > claims.exp:
        raise InvalidToken("service account token has expired")
    if claims.iat is not None and now + LEEWAY < claims.iat:
        raise InvalidToken("service account token is issued in the future")


def check_existence(claims: Claims, get: Callable[[str, str, str], Object | None], now: float) -> None:
    """Raises InvalidToken unless the service account and what the token is bound to are still the same ones."""
    claim, account = claims.kubernetes, claims.kubernetes.serviceaccount
    found = get("serviceaccounts", claim.namespace, account.name)
    if found is None:
        raise InvalidToken(f'serviceaccounts "{account.name}" not found')
    if uid_of(found) != account.uid:
        raise InvalidToken(f"service account UID ({uid_of(found)}) does not match claim ({account.uid})")
    if _gone(found, now):
        raise InvalidToken(f"service account {claim.namespace}/{account.name} has been deleted")
    if claim.secret is not None:
        _check_bound("secret", get("secrets", claim.namespace, claim.secret.name), claim.secret, now)
    if claim.pod is not None:
        _check_bound("pod", get("pods", claim.namespace, claim.pod.name), claim.pod, now)
    elif claim.node is not None:
        _check_bound("node", get("nodes", "", claim.node.name), claim.node, now)


def _check_bound(kind: str, found: Object | None, claimed: Reference, now: float) -> None:
    if found is None:
        raise InvalidToken(_INVALIDATED)
    if uid_of(found) != claimed.uid:
        raise InvalidToken(
            f"{kind} UID ({uid_of(found)}) does not match service account {kind} ref claim ({claimed.uid})"
        )
    if _gone(found, now):
        raise InvalidToken(_INVALIDATED)


def _gone(obj: Object, now: float) -> bool:
    """Deleted, and only waiting for its finalizers."""
    deleted = obj.get("metadata", {}).get("deletionTimestamp")
    return bool(deleted) and datetime.fromisoformat(deleted).timestamp() < now - LEEWAY
