"""When certificates and tokens expire, as far as they say so themselves (G9)."""

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS

# What a Secret holds is small; what is larger is not looked through.
_MOST_BYTES = 1 << 20
_PULL_SECRET = ".dockerconfigjson"  # noqa: S105
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class _Claims(msgspec.Struct):
    exp: float | None = None


class _PullSecret(msgspec.Struct):
    auths: dict[str, dict[str, Any]] = {}


def of_file(path: Path) -> float | None:
    """When the first of a file's certificates to expire does so; None where it has none."""
    try:
        return of_certificates(path.read_bytes())
    except OSError:
        return None


def of_certificates(pem: bytes) -> float | None:
    """The same of a text; others in it, such as keys, and what cannot be read are passed over."""
    return min(_certificates(pem), default=None)


def _certificates(pem: bytes) -> Iterator[float]:
    if len(pem) <= _MOST_BYTES:
        for block in _PEM.findall(pem):
            yield from _end(block)


def _end(block: bytes) -> Iterator[float]:
    """When one certificate expires; nothing where it is none."""
    with suppress(ValueError, x509.InvalidVersion):
        yield x509.load_pem_x509_certificate(block).not_valid_after_utc.timestamp()


def of_token(text: str) -> float | None:
    """When a JSON web token expires, which is read and not believed; None for any other text."""
    parts = text.strip().split(".")
    if len(parts) != 3:
        return None
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=_Claims).exp
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


def of_object(resource: Resource, obj: Object, now: float) -> float | None:
    """When the first part of a Secret or ConfigMap to expire does so; None where nothing in it says.

    A ConfigMap is a bundle of authorities, of which some have always expired: they count where none is left.
    """
    if resource != CONFIG_MAPS:
        return min((moment for value in _values(resource, obj) for moment in _moments(value)), default=None)
    ends = [moment for value in _values(resource, obj) for moment in _certificates(value)]
    return min((moment for moment in ends if moment > now), default=max(ends, default=None))


def _values(resource: Resource, obj: Object) -> Iterator[bytes]:
    for key, text in (obj.get("data") or {}).items():
        if resource == CONFIG_MAPS:
            yield text.encode()
            continue
        try:
            value = base64.b64decode(text)
        except ValueError:
            continue
        yield value
        if key == _PULL_SECRET:
            yield from _entries(value)


def _entries(pull_secret: bytes) -> Iterator[bytes]:
    """The passwords and tokens in what docker and podman keep."""
    try:
        found = msgspec.json.decode(pull_secret, type=_PullSecret)
    except (msgspec.MsgspecError, RecursionError):
        return
    for entry in found.auths.values():
        yield from (str(entry[key]).encode() for key in ("password", "identitytoken", "registrytoken") if key in entry)
        try:
            yield base64.b64decode(str(entry.get("auth", ""))).partition(b":")[2]
        except ValueError:
            continue


def _moments(value: bytes) -> Iterator[float]:
    if len(value) > _MOST_BYTES:
        return
    for moment in (of_certificates(value), of_token(value.decode(errors="replace"))):
        if moment is not None:
            yield moment
