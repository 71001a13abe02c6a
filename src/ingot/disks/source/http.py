"""HTTP and HTTPS: a file on a web server, which is only read."""

from ingot.api.object import Object
from ingot.disks import identity
from ingot.disks.endpoint import Network
from ingot.disks.place import Place
from ingot.disks.source import vault
from ingot.disks.source.reference import Reference, parsed, told
from ingot.disks.source.refusal import final
from ingot.kube.client import Client

# Ours, and CDI's.
_PAIRS = (("username", "password"), ("accessKeyId", "secretKey"))


def reference(volume: Object) -> Reference:
    """The reference in an `http` source."""
    at = parsed(volume["name"], "http.url", volume["http"]["url"])
    if at.scheme not in ("http", "https"):
        raise final(volume["name"], "InvalidVolume", f"http.url: scheme {at.scheme!r} must be http or https")
    return told(volume, "http", at)


async def endpoint(reference: Reference, place: Place, client: Client) -> Network:
    """The file. Raises DiskFault."""
    at = reference.at
    if not at.tls:
        reference.refuse("certConfigMap", "http is not encrypted; use https")
    keys = await vault.secret(reference, place, client) if reference.secret else {}
    credentials = vault.pair(keys, _PAIRS)
    if reference.secret and credentials is None and not (at.tls and "tls.crt" in keys):
        wanted = " or ".join(f"{user} and {password}" for user, password in _PAIRS)
        raise vault.invalid_secret(reference, f"must have the keys {wanted}; with https tls.crt and tls.key, too")
    return Network(
        "https" if at.tls else "http",
        at.name,
        at.hosts,
        format=reference.format,
        tls=await vault.tls(reference, keys, place, client) if at.tls else None,
        credentials=credentials,
        identities=await identity.served(reference.volume, at.scheme, at.hosts, at.name.lstrip("/"), place.node),
    )
