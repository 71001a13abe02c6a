"""NBD: an export of a server, open or encrypted."""

from ingot.api.kubevirt import uri
from ingot.api.kubevirt.uri import HostPort
from ingot.api.object import Object
from ingot.disks import identity
from ingot.disks.endpoint import Network
from ingot.disks.place import Place
from ingot.disks.source import vault
from ingot.disks.source.reference import Reference, told
from ingot.kube.client import Client


def reference(volume: Object) -> Reference:
    """The reference in an `nbd` source."""
    spec = volume["nbd"]
    scheme = "nbds" if spec.get("tls") else "nbd"
    host = HostPort(spec["host"], int(spec.get("port", uri.DEFAULT_PORTS[scheme])))
    return told(volume, "nbd", uri.Endpoint(scheme, (host,), spec.get("export", "")))


async def endpoint(reference: Reference, place: Place, client: Client) -> Network:
    """The export. Raises DiskFault."""
    at = reference.at
    if not at.tls:
        why = "an NBD server is told who we are by TLS only, and this connection has none"
        reference.refuse("secretRef", why)
        reference.refuse("certConfigMap", why)
    keys = await vault.secret(reference, place, client) if reference.secret else {}
    if reference.secret and "tls.crt" not in keys:
        raise vault.invalid_secret(reference, "must have the keys tls.crt and tls.key: our certificate for the server")
    return Network(
        "nbd",
        at.name,
        at.hosts,
        format=reference.format,
        tls=await vault.tls(reference, keys, place, client) if at.tls else None,
        identities=await identity.served(reference.volume, "nbd", at.hosts, at.name, place.node),
    )
