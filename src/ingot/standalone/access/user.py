"""Users as authentication finds them and authorization judges them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from ingot.api.object import Object

ADMIN = "ingot-admin"
MASTERS = "system:masters"
ANONYMOUS = "system:anonymous"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"

_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class User:
    """Who asks. `extra` is what the credential says beyond name and groups."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def info(self) -> Object:
        """`authentication/v1 UserInfo`, without what is empty."""
        info: Object = {}
        if self.name:
            info["username"] = self.name
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(self.extra[key]) for key in sorted(self.extra)}
        return info

    def authenticated(self) -> Self:
        """This user in the group of all whose credentials were good."""
        if self.name == ANONYMOUS or AUTHENTICATED in self.groups or UNAUTHENTICATED in self.groups:
            return self
        return replace(self, groups=(*self.groups, AUTHENTICATED))


NOBODY = User(ANONYMOUS, groups=(UNAUTHENTICATED,))


def service_account_name(namespace: str, name: str) -> str:
    return f"{_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def split_service_account(username: str) -> tuple[str, str] | None:
    """(namespace, name) of a service account's user name; None for every other user."""
    if not username.startswith(_SERVICE_ACCOUNT_PREFIX):
        return None
    parts: Sequence[str] = username.removeprefix(_SERVICE_ACCOUNT_PREFIX).split(":")
    if len(parts) != 2:
        return None
    namespace, name = parts
    valid = _LABEL.fullmatch(namespace) and _SUBDOMAIN.fullmatch(name)
    return (namespace, name) if valid and len(namespace) <= 63 and len(name) <= 253 else None
