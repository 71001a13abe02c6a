"""Sources: which endpoint a machine's volume leads to."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from ingot.api.object import Object
from ingot.disks.endpoint import Endpoint
from ingot.disks.made import make
from ingot.disks.place import Place
from ingot.disks.source import claim, hostdisk, network
from ingot.disks.source.refusal import final
from ingot.kube.client import Client

Resolver: TypeAlias = Callable[[Object, Object, Place, Client], Awaitable[Endpoint]]

RESOLVERS: Mapping[str, Resolver] = {
    "persistentVolumeClaim": claim.resolve,
    "dataVolume": claim.resolve,
    "ephemeral": claim.resolve,
    "hostDisk": hostdisk.resolve,
    **dict.fromkeys(network.REFERENCES, network.resolve),
    **dict.fromkeys(make.SOURCES, make.make),
}


async def resolve(volume: Object, vmi: Object, place: Place, client: Client) -> Endpoint:
    """The endpoint of a volume on this node, with its identities. Raises DiskFault.

    Nothing is connected to and nothing is claimed. A hostDisk that was asked for with DiskOrCreate is made, and so are
    disks with cloud-init's data and the like. The endpoint of an ephemeral volume is what lies below its overlay.
    """
    for source, resolver in RESOLVERS.items():
        if source in volume:
            return await resolver(volume, vmi, place, client)
    told = ", ".join(sorted(set(volume) - {"name", "accessMode", "copy", "driver"})) or "none"
    known = ", ".join(sorted(RESOLVERS))
    message = f"its source ({told}) cannot be delivered by this node; use one of {known}"
    raise final(str(volume["name"]), "SourceUnsupported", message)
