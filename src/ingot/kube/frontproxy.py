"""The API server as the one who passes requests on to us: how it is known, and who it says asks.

An aggregated API is served behind kube-apiserver, which lets users in, and tells in headers who they are. It proves
itself with a certificate of an authority that it publishes in a ConfigMap, beside the names of the headers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from ingot.api.object import Object
from ingot.kube.kubeconfig import ConfigError

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_PLACE = f"ConfigMap {NAMESPACE}/{NAME}"
_AUTHORITIES, _ALLOWED = "requestheader-client-ca-file", "requestheader-allowed-names"
_USERS, _GROUPS = "requestheader-username-headers", "requestheader-group-headers"
_UIDS, _EXTRAS = "requestheader-uid-headers", "requestheader-extra-headers-prefix"


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """What the ConfigMap says: authorities in PEM, the common names that may speak for users (none: all that the
    authorities have signed), and the headers in which they do."""

    authorities: str
    allowed: tuple[str, ...]
    users: tuple[str, ...]
    groups: tuple[str, ...]
    uids: tuple[str, ...]
    extras: tuple[str, ...]

    @classmethod
    def read(cls, config_map: Object) -> Self:
        """Raises ConfigError for a cluster that passes no requests on."""
        data = config_map.get("data") or {}
        if not (data.get(_AUTHORITIES) or "").strip():
            flags = "--requestheader-client-ca-file and --proxy-client-cert-file"
            raise ConfigError(_PLACE, f"no {_AUTHORITIES}: start kube-apiserver with {flags}")
        users = _names(data, _USERS)
        if not users:
            raise ConfigError(_PLACE, f"no {_USERS}: start kube-apiserver with --requestheader-username-headers")
        rest = (_names(data, _GROUPS), _names(data, _UIDS), _names(data, _EXTRAS))
        return cls(data[_AUTHORITIES], _names(data, _ALLOWED), users, *rest)

    def trusts(self, certificate: Mapping[str, object] | None) -> bool:
        """Whether who has shown this certificate, which one of the authorities has signed, may speak for users."""
        if not certificate:
            return False
        return not self.allowed or bool(_common_names(certificate) & set(self.allowed))

    def user(self, headers: CIMultiDictProxy[str]) -> Object | None:
        """Who asks, as an AdmissionReview names them; None where nobody is named."""
        username = _first(headers, self.users)
        if not username:
            return None
        groups = next((found for name in self.groups if (found := headers.getall(name, []))), [])
        return {
            "username": username,
            "uid": _first(headers, self.uids),
            "groups": groups,
            "extra": self._extra(headers),
        }

    def _extra(self, headers: CIMultiDictProxy[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in headers.items():
            for prefix in self.extras:
                if name.lower().startswith(prefix.lower()):
                    found.setdefault(unquote(name[len(prefix) :].lower()), []).append(value)
        return found


def _names(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    try:
        found = json.loads(data.get(key) or "[]")
    except ValueError as error:
        raise ConfigError(_PLACE, f"{key} is no list in JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ConfigError(_PLACE, f"{key} is no list of names: {found!r}")
    return tuple(found)


def _first(headers: CIMultiDictProxy[str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def _common_names(certificate: Mapping[str, object]) -> set[str]:
    """Of a certificate as `ssl` gives it: a subject is a sequence of sequences of pairs."""
    subject = certificate.get("subject") or ()
    assert isinstance(subject, tuple)
    return {value for part in subject for name, value in part if name == "commonName"}
