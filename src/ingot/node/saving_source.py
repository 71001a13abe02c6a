"""The disks of a machine that does not run, for those who copy them: found as at a start, and held to be read."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ingot.api.object import Object, namespace_of, uid_of
from ingot.disks import bridge, inspect
from ingot.disks.access import AccessMode, Claims
from ingot.disks.convert import fill
from ingot.disks.endpoint import Endpoint, Network
from ingot.disks.imageopts import image, told
from ingot.disks.place import Place
from ingot.disks.resolve import resolve
from ingot.disks.source.refusal import refusal
from ingot.host.command import CommandFailed
from ingot.host.descriptor import Descriptor
from ingot.host.files import make_passable
from ingot.host.tasks import together
from ingot.kube.client import Client
from ingot.node.chain import Site
from ingot.node.room import shared, while_there_is_room


@dataclass(frozen=True, slots=True)
class Disk:
    """Where a volume's bytes are, and how many there are."""

    endpoint: Endpoint
    size: int


class Sources:
    """Finds disks for savers. What is held for one, by the uid of its pod, is let go with `clear`."""

    def __init__(self, client: Client, site: Site, claims: Claims, directory: Path) -> None:
        self._client = client
        self._site = site
        self._claims = claims
        self._directory = directory
        make_passable(directory)

    def left(self) -> set[str]:
        """The uids of pods for which something may be held here."""
        return {place.name for place in self._directory.iterdir()}

    async def find(self, holder: Object, volumes: list[Object]) -> dict[str, Disk]:
        """The disks by volume, held until `clear` by `holder`, which has the uid of the saver's pod. Raises DiskFault.

        It may be repeated. Nothing is made where there is nothing: a missing file or an empty claim is a fault.
        """
        make_passable(self._scratch(uid_of(holder)))
        found = await together(self._disk(holder, _as_it_is(volume)) for volume in volumes)
        return {str(volume["name"]): disk for volume, disk in zip(volumes, found, strict=True)}

    async def _disk(self, holder: Object, volume: Object) -> Disk:
        name, site, scratch = str(volume["name"]), self._site, self._scratch(uid_of(holder))
        place = Place(namespace_of(holder), site.node, uid_of(holder), site.kubelet, scratch)
        source = await resolve(volume, holder, place, self._client)
        if isinstance(source, Network) and bridge.needed(source):
            source = await self._bridges(uid_of(holder)).ensure(name, source)
        size = await inspect.probe(name, source, scratch)
        await self._claims.claim(holder, name, source.identities, AccessMode.READ_SHARED)
        return Disk(source, size)

    async def copy(
        self, uid: str, disks: Mapping[str, Disk], files: Mapping[str, Descriptor], progress: Callable[[int, int], None]
    ) -> None:
        """Copies disks into open files, with their holes. Raises DiskFault, NoRoom."""
        done, total = dict.fromkeys(disks, 0), sum(disk.size for disk in disks.values())

        def follow(volume: str) -> Callable[[float], None]:
            def tell(part: float) -> None:
                done[volume] = int(part * disks[volume].size)
                progress(sum(done.values()), total)

            return tell

        places = shared((files[each], disks[each].size) for each in disks)
        copies = together(self._copy(uid, each, disks[each], files[each], follow(each)) for each in disks)
        await while_there_is_room(copies, places)

    async def _copy(self, uid: str, volume: str, disk: Disk, file: Descriptor, tell: Callable[[float], None]) -> None:
        source = disk.endpoint
        with image(source, self._scratch(uid)) as opened:
            try:
                await fill(file, disk.size, [*opened.arguments, opened.name], tell)
            except CommandFailed as error:
                said = error.stderr.removeprefix("qemu-img: ").replace(opened.name, told(source))
                raise refusal(volume, "CopyFailed", f"{told(source)} cannot be copied: {said.strip()}") from None

    async def clear(self, uid: str) -> None:
        """Lets go of all that is held for a pod. Nothing may be copied for it any more."""
        await self._bridges(uid).end()
        await self._claims.release(uid)
        # Last: it says that there may be more.
        shutil.rmtree(self._scratch(uid), ignore_errors=True)

    def _bridges(self, uid: str) -> bridge.Bridges:
        return bridge.Bridges(self._scratch(uid), self._site.user)

    def _scratch(self, uid: str) -> Path:
        return self._directory / uid


def _as_it_is(volume: Object) -> Object:
    """The volume, of which nothing is made that is not there."""
    if "hostDisk" in volume:
        return {**volume, "hostDisk": {**volume["hostDisk"], "type": "Disk"}}
    if "persistentVolumeClaim" in volume:
        return {**volume, "persistentVolumeClaim": {**volume["persistentVolumeClaim"], "readOnly": True}}
    return volume
