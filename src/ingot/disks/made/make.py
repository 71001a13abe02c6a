"""Disks made on the spot, in the machine's own directory: nobody else can reach them, so they have no identity."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ingot.api.object import Object, namespace_of
from ingot.disks.endpoint import File
from ingot.disks.made import cloudinit, files
from ingot.disks.made.empty import write_empty
from ingot.disks.made.iso import write_iso
from ingot.disks.made.objects import Reader
from ingot.disks.place import Place
from ingot.host.files import make_passable
from ingot.kube.client import Client

Filler: TypeAlias = Callable[[Object, Object, Reader], Awaitable[dict[str, bytes]]]

_EMPTY = "emptyDisk"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What fills an image, and its label unless the volume has one of its own."""

    fill: Filler
    label: str


_IMAGES: Mapping[str, _Kind] = {
    "cloudInitNoCloud": _Kind(cloudinit.no_cloud, "cidata"),
    "cloudInitConfigDrive": _Kind(cloudinit.config_drive, "config-2"),
    "configMap": _Kind(files.config_map, "cfgdata"),
    "secret": _Kind(files.secret, "cfgdata"),
    "serviceAccount": _Kind(files.service_account, "cfgdata"),
    "downwardAPI": _Kind(files.downward_api, "cfgdata"),
    "sysprep": _Kind(files.sysprep, "unattendCD"),
}

SOURCES = (_EMPTY, *_IMAGES)


async def make(volume: Object, vmi: Object, place: Place, client: Client) -> File:
    """The disk of a volume with one of SOURCES: made now, or as it was left by an earlier call. Raises DiskFault."""
    source = next(source for source in SOURCES if source in volume)
    directory = _directory(place.private)
    name = str(volume["name"])
    if source == _EMPTY:
        path = directory / f"{name}.img"
        if not path.exists():
            write_empty(volume, path)
        return File(path)
    path = directory / f"{name}.iso"
    if not path.exists():
        kind = _IMAGES[source]
        content = await kind.fill(volume, vmi, Reader(name, namespace_of(vmi), client))
        await write_iso(name, path, str(volume[source].get("volumeLabel") or kind.label), content)
    return File(path)


def _directory(private: Path) -> Path:
    """Made disks are apart from the rest."""
    directory = private / "made"
    make_passable(directory)
    return directory
