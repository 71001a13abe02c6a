"""The disks of an instance: each led from its source through access and copy to the device that the guest sees."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from ingot.api.kubevirt.sizes import vcpus
from ingot.api.kubevirt.usage import DEFAULT_USAGE
from ingot.api.object import Object, namespace_of
from ingot.disks import bridge, copy, inspect
from ingot.disks.access import AccessMode, Claims, wanted
from ingot.disks.credentials import secret_usage
from ingot.disks.endpoint import Endpoint, File, Network
from ingot.disks.facts import Facts, look
from ingot.disks.fault import DiskFault
from ingot.disks.handover import handed_over
from ingot.disks.place import Place
from ingot.disks.resolve import resolve
from ingot.disks.target import Options, device_names, render
from ingot.disks.writing import check_writable
from ingot.host.descriptor import Descriptor
from ingot.host.tasks import together
from ingot.kube.client import Client
from ingot.node.domain.threads import io_threads
from ingot.node.growth import grown
from ingot.node.pools import Pools
from ingot.node.record import Record
from ingot.node.secrets import Kind as SecretKind
from ingot.node.secrets import Secrets

log = logging.getLogger(__name__)

# Volume, bytes done, bytes in all.
Progress = Callable[[str, int, int], None]
_SECRET_KINDS: dict[str, SecretKind] = {"iscsi": "iscsi", "rbd": "ceph"}
# What an earlier try may have left in a volume's status.
_NOTHING_WRONG = {"reason": None, "message": None, "progress": None}


@dataclass(frozen=True, slots=True)
class Site:
    """Where this node keeps things: its name, the kubelet's root, and the directory of each usage type."""

    node: str
    kubelet: Path
    locations: dict[str, Path] = field(default_factory=dict)
    # Who QEMU and its helpers run as; None for whoever we are.
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The disks of a domain, ready for it, what to say of the volumes behind them, and the files that are handed over
    open, by the names that the disks have for them."""

    disks: list[Element]
    volumes: list[Object]
    files: dict[str, Descriptor]


def copy_mode(volume: Object) -> str:
    """What the guest works on: the source itself, or local data over or in place of it."""
    if "ephemeral" in volume:
        return "copy-on-write"
    return str((volume.get("copy") or {}).get("mode", "none"))


def _queues(spec: Object) -> int:
    return vcpus(spec) if spec["domain"]["devices"].get("blockMultiQueue") else 0


def _facts(volume: str, endpoint: Endpoint | None) -> Facts:
    try:
        return look(endpoint) if endpoint is not None else Facts()
    except OSError as error:
        raise DiskFault(volume, "Unreachable", f"{error.filename}: {error.strerror}; tried again in 10 s") from error


class Chains:
    """Makes the disks of instances, and takes them away again. Every step can be repeated."""

    def __init__(self, client: Client, site: Site, claims: Claims, secrets: Secrets, pools: Pools) -> None:
        self._client = client
        self._site = site
        self._claims = claims
        self._secrets = secrets
        self._pools = pools

    async def make(self, instance: Object, record: Record, progress: Progress) -> Chain:
        """All disks of the instance. Raises DiskFault."""
        spec = instance["spec"]
        volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
        disks = spec["domain"]["devices"].get("disks") or []
        devices = device_names(disks)
        threads = io_threads(spec, disks)
        found = await together(
            self._endpoint(instance, record, volumes.get(disk["name"]), disk, progress) for disk in disks
        )
        await self._forget_sources(record, volumes.values())
        chain = Chain([], [], {})
        for disk, (endpoint, size) in zip(disks, found, strict=True):
            name, volume = disk["name"], volumes.get(disk["name"])
            options = Options(
                access=wanted(volume, disk) if volume else "read-shared",
                facts=await asyncio.to_thread(_facts, name, endpoint),
                io_thread=threads.get(name, 0),
                queues=_queues(spec),
            )
            usage = secret_usage(record.uid, name)
            chain.disks.append(render(disk, volume, endpoint, devices[name], usage, options))
            if file := await asyncio.to_thread(handed_over, name, endpoint, chain.disks[-1]):
                chain.files[name] = file
            told = {"name": name, "target": devices[name], "phase": "Ready", "size": size or None}
            chain.volumes.append(told | _NOTHING_WRONG)
        return chain

    async def _endpoint(
        self, instance: Object, record: Record, volume: Object | None, disk: Object, progress: Progress
    ) -> tuple[Endpoint | None, int]:
        """Where the guest's bytes of one volume are, and how many there are; 0 for a disk made on the spot.

        Nothing at all for a drive without a volume.
        """
        if volume is None:
            return None, 0
        name, size = volume["name"], 0
        site = self._site
        place = Place(namespace_of(instance), site.node, record.pod_uid, site.kubelet, record.directory)
        source = await resolve(volume, instance, place, self._client)
        if isinstance(source, Network) and bridge.needed(source):
            source = await self._bridges(record).ensure(name, source)
        mode, access = copy_mode(volume), wanted(volume, disk)
        if source.identities:
            # First the look, which proves that we are let in: nobody holds what he could not open.
            size = await inspect.probe(name, source, record.directory)
            await self._claims.claim(instance, name, source.identities, access)
            if mode == "none" and access is not AccessMode.READ_SHARED:
                await check_writable(name, source, record.directory)
            size = await grown(instance, volume, disk, source, size)
        await self._tell_secret(record, name, source)
        if mode == "none":
            return source, size
        return await self._copy(record, volume, mode, source, progress), size

    async def _copy(self, record: Record, volume: Object, mode: str, source: Endpoint, progress: Progress) -> File:
        usage = (volume.get("copy") or {}).get("usageType") or DEFAULT_USAGE
        name = volume["name"]
        pool = self._site.locations.get(usage)
        if pool is None:
            offered = ", ".join(sorted(self._site.locations))
            why = f"this node offers no storage of usage type {usage!r} (it offers {offered}); tried again in 10 s"
            raise DiskFault(name, "UsageTypeNotOffered", why)
        made = await copy.copy(
            name, mode, source, pool, f"{record.uid}-{name}", record.directory, lambda *done: progress(name, *done)
        )
        await self._pools.refresh(usage)
        return made

    async def _forget_sources(self, record: Record, volumes: Iterable[Object]) -> None:
        """Clones need their sources no more: others may have them, and no secret or bridge stays."""
        names = [volume["name"] for volume in volumes if copy_mode(volume) == "clone"]
        if not names:
            return
        held = await self._claims.held_by(record.uid)
        kept = (identities for name, identities in held.items() if name not in names)
        await self._claims.release(record.uid, keep=frozenset().union(*kept))
        for name in names:
            await self._secrets.remove(secret_usage(record.uid, name))
            await self._bridges(record).drop(name)

    async def _tell_secret(self, record: Record, name: str, source: Endpoint) -> None:
        if isinstance(source, Network) and source.credentials and source.protocol in _SECRET_KINDS:
            kind = _SECRET_KINDS[source.protocol]
            await self._secrets.define(kind, secret_usage(record.uid, name), source.credentials.secret)

    def _bridges(self, record: Record) -> bridge.Bridges:
        return bridge.Bridges(record.directory, self._site.user)

    async def retreat(self, record: Record) -> None:
        """After a start that failed: lets go of every claim, so that nobody waits for a machine that does not run."""
        # A bridge keeps what it has read, which somebody may put right meanwhile.
        await self._bridges(record).end()
        await self._claims.release(record.uid)

    async def mend(self, record: Record) -> list[str]:
        """Starts bridges again that died; the volumes they are for."""
        return await self._bridges(record).mend()

    async def clear(self, record: Record) -> None:
        """Takes away all that the instance has on this node. Its domain must be gone.

        The claims go last: until then nobody else may touch the storage.
        """
        await self._bridges(record).end()
        for usage, pool in self._site.locations.items():
            if copy.discard(pool, record.uid):
                await self._pools.refresh(usage)
        await self._secrets.remove_prefix(secret_usage(record.uid, ""))
        await self._claims.release(record.uid)
