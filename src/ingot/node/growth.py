"""Disks that grow with their claims: before their guests start, and while they run."""

import logging
from pathlib import Path
from xml.etree import ElementTree

from ingot.api.kubevirt import phase
from ingot.api.object import Object, uid_of
from ingot.api.resources import INSTANCES
from ingot.disks.endpoint import Endpoint, File, Format
from ingot.disks.expansion import LEAST_SHARE, device_size, expand, possible_size, wanted_size
from ingot.disks.fault import DiskFault
from ingot.disks.source.refusal import patiently
from ingot.kube.cache import Key
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.informer import Informer
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of, is_deleting
from ingot.node import status
from ingot.node.binding import Connection, constant
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records

log = logging.getLogger(__name__)

WORKERS = 4
RETRY_SECONDS = 10.0


async def grown(instance: Object, volume: Object, disk: Object, source: Endpoint, size: int) -> int:
    """How large the disk is that a guest is about to start with, once it has grown with its claim.

    What stands in the way keeps no guest from starting: `Growth` tries again, and tells.
    """
    asked = wanted_size(instance, volume, disk)
    if not isinstance(source, File) or source.format is not Format.RAW or asked <= size:
        return size
    try:
        return await patiently(volume["name"], str(source.path), lambda: expand(source.reach, asked))
    except (OSError, DiskFault) as error:
        log.warning("%s was not made %d bytes large before the start: %s", source.path, asked, error)
        return size


class Shortage(Exception):
    """A disk that its filesystem, with room for `possible` bytes of it, does not let grow as far as its claim."""

    def __init__(self, possible: int) -> None:
        super().__init__(f"its filesystem has room for {possible}: make room there")
        self.possible = possible


class Growth:
    """Lets running guests see that the claims of their disks have grown.

    QEMU itself makes the file of a filesystem claim larger. `Record.volumes` has the sizes that guests see.
    """

    def __init__(
        self, manager: Manager, instances: Informer, records: Records, hypervisor: Hypervisor, recorder: Recorder
    ) -> None:
        self._client: Client = manager.client
        self._instances = instances
        self._records = records
        self._hypervisor = hypervisor
        self._recorder = recorder
        manager.add(Controller("growth", self.reconcile, workers=WORKERS).watch(instances))

    async def reconcile(self, key: Key) -> Result | None:
        instance = self._instances.cache.get(key)
        if instance is None or is_deleting(instance) or phase.phase_of(instance) != phase.RUNNING:
            return None
        record = self._records.get(uid_of(instance))
        if record is None or not (wishes := _wishes(instance, record)):
            return None
        try:
            sources = _sources(await self._hypervisor.xml(record.domain))
        except HypervisorError as error:
            if error.missing:
                return None
            raise
        short = [not await self._follow(instance, record, told, asked, sources) for told, asked in wishes]
        return Result(RETRY_SECONDS) if any(short) else None

    async def _follow(
        self, instance: Object, record: Record, told: Object, asked: int, sources: dict[str, tuple[str, Path]]
    ) -> bool:
        """Lets one disk grow, and tells; whether it is now as large as it can be."""
        name, device = told["name"], told["target"]
        kind, path = sources.get(device, ("", Path()))
        try:
            size = await _reachable(name, kind, path, asked)
            if size <= told["size"]:
                return True
            await self._resize(record.domain, device, size)
        except (DiskFault, HypervisorError, OSError, Shortage) as error:
            why = error.message if isinstance(error, DiskFault) else f"{error}; tried again in {RETRY_SECONDS:g} s"
            message = f"volume {name!r}: its claim has {asked} bytes, and the guest sees {told['size']}: {why}"
            self._recorder.record(instance, "VolumeResizeFailed", message, "Warning")
            return False
        told["size"] = size
        record.save()
        await self._tell(instance, name, size)
        return True

    async def _resize(self, domain: str, device: str, size: int) -> None:
        flags = constant("VIR_DOMAIN_BLOCK_RESIZE_BYTES")

        def resize(connection: Connection) -> None:
            connection.lookupByName(domain).blockResize(device, size, flags)

        await self._hypervisor.repeat(domain, resize)

    async def _tell(self, instance: Object, volume: str, size: int) -> None:
        self._recorder.record(instance, "VolumeResized", f"volume {volume!r} now has {size} bytes, as its guest sees")
        told = copy_of(instance)
        status.volumes(told, [{"name": volume, "size": size}])
        await patch_status(self._client, INSTANCES, instance, told)


def _wishes(instance: Object, record: Record) -> list[tuple[Object, int]]:
    """The volumes whose claims have outgrown what the guest sees: what is told of each, and how large it may be."""
    spec = instance["spec"]
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    disks = {disk["name"]: disk for disk in spec["domain"]["devices"].get("disks") or ()}
    found = []
    for told in record.volumes:
        name = told["name"]
        asked = wanted_size(instance, volumes[name], disks[name]) if name in volumes and name in disks else 0
        if asked > (told.get("size") or asked):
            found.append((told, asked))
    return found


def _sources(xml: str) -> dict[str, tuple[str, Path]]:
    """The sort (`file`, `block`) and the path of each raw disk that a domain has on this node, by its device."""
    found = {}
    for disk in ElementTree.fromstring(xml).iter("disk"):  # noqa: S314 - libvirt's own text
        sort, source, target, driver = (
            disk.get("type", ""),
            disk.find("source"),
            disk.find("target"),
            disk.find("driver"),
        )
        path = source.get("file") or source.get("dev") if source is not None else None
        if path and target is not None and driver is not None and driver.get("type") == "raw":
            found[target.get("dev", "")] = (sort, Path(path))
    return found


async def _reachable(volume: str, kind: str, path: Path, asked: int) -> int:
    """How large a disk can be made: 0 for one that its own server makes larger. Raises DiskFault, OSError, Shortage."""
    if kind == "block":
        return await patiently(volume, str(path), lambda: device_size(path))
    if kind != "file":
        return 0
    possible = await patiently(volume, str(path), lambda: possible_size(path, asked))
    if possible < asked * LEAST_SHARE:
        raise Shortage(possible)
    return possible
