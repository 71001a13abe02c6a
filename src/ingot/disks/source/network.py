"""Network volumes: an endpoint of any protocol by its address (N1), and the protocols' own forms (B1)."""

from collections.abc import Awaitable, Callable

from ingot.api.object import Object
from ingot.disks.endpoint import Network
from ingot.disks.place import Place
from ingot.disks.source import gluster, http, iscsi, nbd, rbd
from ingot.disks.source.reference import Reference, parsed, told
from ingot.kube.client import Client

_ENDPOINTS: dict[str, Callable[[Reference, Place, Client], Awaitable[Network]]] = {
    "nbd": nbd.endpoint,
    "nbds": nbd.endpoint,
    "iscsi": iscsi.endpoint,
    "rbd": rbd.endpoint,
    "gluster": gluster.endpoint,
    "http": http.endpoint,
    "https": http.endpoint,
}


def reference(volume: Object) -> Reference:
    """The reference in a `networkVolume` source."""
    return told(volume, "networkVolume", parsed(volume["name"], "networkVolume.uri", volume["networkVolume"]["uri"]))


REFERENCES: dict[str, Callable[[Object], Reference]] = {
    "networkVolume": reference,
    "nbd": nbd.reference,
    "iscsi": iscsi.reference,
    "rbd": rbd.reference,
    "gluster": gluster.reference,
    "http": http.reference,
}


async def resolve(volume: Object, _vmi: Object, place: Place, client: Client) -> Network:
    """The endpoint of a volume whose source is one of REFERENCES. Raises DiskFault."""
    source = next(source for source in REFERENCES if source in volume)
    found = REFERENCES[source](volume)
    return await _ENDPOINTS[found.at.scheme](found, place, client)
