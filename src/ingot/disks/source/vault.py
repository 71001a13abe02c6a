"""What a source needs to prove itself and to trust: keys of Secrets, certificates of ConfigMaps."""

import base64
import binascii
import os
import ssl
from collections.abc import Iterable

from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS, SECRETS
from ingot.api.status import ApiError
from ingot.disks.endpoint import Credentials, Tls
from ingot.disks.place import Place
from ingot.disks.source.reference import Reference
from ingot.disks.source.refusal import refusal
from ingot.kube.client import Client

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


async def secret(reference: Reference, place: Place, client: Client) -> dict[str, bytes]:
    """The keys of the reference's Secret. Raises DiskFault."""
    namespace = reference.secret_namespace or place.namespace
    data = await _data(reference, SECRETS, reference.secret, namespace, client)
    try:
        return {key: base64.b64decode(value) for key, value in data.items()}
    except binascii.Error:
        raise invalid_secret(reference, "holds a value that is not base64") from None


async def authority(reference: Reference, place: Place, client: Client) -> str:
    """All certificates in the reference's ConfigMap, in PEM. Raises DiskFault."""
    data = await _data(reference, CONFIG_MAPS, reference.certificates, place.namespace, client)
    found = "\n".join(value.strip() for _, value in sorted(data.items()) if _CERTIFICATE in value)
    subject = f"ConfigMap {reference.certificates!r} (certConfigMap)"
    if not found:
        message = f"{subject} has no key with a certificate: put the authority's, in PEM, under the key ca.crt"
        raise refusal(reference.volume, "CertificatesInvalid", message)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (ssl.SSLError, ValueError) as error:
        message = f"{subject} holds a certificate that cannot be read ({_said(error)}): put it there in PEM"
        raise refusal(reference.volume, "CertificatesInvalid", message) from None
    return f"{found}\n"


async def tls(reference: Reference, keys: dict[str, bytes], place: Place, client: Client) -> Tls:
    """What an encrypted connection needs, out of `keys` of the reference's Secret and its ConfigMap."""
    trusted = await authority(reference, place, client) if reference.certificates else ""
    own = {key: keys[key].decode(errors="replace") for key in ("tls.crt", "tls.key") if key in keys}
    if not own:
        return Tls(trusted)
    if len(own) == 1:
        raise invalid_secret(reference, "must have both of tls.crt and tls.key")
    _check_pair(reference, own["tls.crt"], own["tls.key"])
    return Tls(trusted, own["tls.crt"], own["tls.key"])


def pair(keys: dict[str, bytes], names: Iterable[tuple[str, str]]) -> Credentials | None:
    """The first pair of keys, of a user and a secret, that is there whole. A line's end is not part of a value."""
    for user, password in names:
        if user in keys and password in keys:
            return Credentials(keys[user].decode(errors="replace").strip(), keys[password].strip(b"\r\n"))
    return None


def invalid_secret(reference: Reference, what: str) -> Exception:
    """The fault of a Secret that is there, but `what`: never with a value of it."""
    return refusal(reference.volume, "SecretInvalid", f"Secret {reference.secret!r} ({reference.field}) {what}")


async def _data(reference: Reference, resource: Resource, name: str, namespace: str, client: Client) -> dict[str, str]:
    try:
        found = await client.get(resource, name, namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        message = f"{resource.kind} {name!r} ({reference.field}) does not exist in namespace {namespace!r}: create it"
        raise refusal(reference.volume, f"{resource.kind}NotFound", message) from None
    return dict(found.get("data") or {})


def _check_pair(reference: Reference, certificate: str, key: str) -> None:
    """That the key is the certificate's; kept in memory, because ssl reads nothing but files."""
    descriptor = os.memfd_create("pair")
    try:
        os.write(descriptor, f"{certificate}\n{key}\n".encode())
        # An encrypted key would make OpenSSL ask at the terminal.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        what = f"holds a tls.crt and a tls.key that cannot be used together ({_said(error)})"
        raise invalid_secret(reference, what) from None
    finally:
        os.close(descriptor)


def _said(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error).lower().replace("_", " ")
