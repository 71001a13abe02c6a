"""GlusterFS: a file on a volume."""

import posixpath

from ingot.api.kubevirt import uri
from ingot.api.kubevirt.uri import HostPort
from ingot.api.object import Object
from ingot.disks import identity
from ingot.disks.endpoint import Network
from ingot.disks.place import Place
from ingot.disks.source.reference import Reference, told
from ingot.kube.client import Client


def reference(volume: Object) -> Reference:
    """The reference in a `gluster` source."""
    spec = volume["gluster"]
    host = HostPort(spec["host"], int(spec.get("port", uri.DEFAULT_PORTS["gluster"])))
    return told(volume, "gluster", uri.Endpoint("gluster", (host,), f"{spec['volume']}/{spec['path'].lstrip('/')}"))


async def endpoint(reference: Reference, place: Place, _client: Client) -> Network:
    """The file. Raises DiskFault."""
    for attribute in ("secretRef", "certConfigMap"):
        reference.refuse(attribute, "GlusterFS lets nodes in by their addresses")
    at = reference.at
    # A path may be written in many ways.
    name = posixpath.normpath(at.name)
    identities = await identity.served(reference.volume, "gluster", at.hosts, name, place.node)
    return Network("gluster", at.name, at.hosts, format=reference.format, identities=identities)
