"""The volumes of a pod: made before its containers start, taken away when it is over."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.kube.client import Client
from ingot.standalone.pods import claims, contents
from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.mounts import mount
from ingot.standalone.pods.user import User, user_of

_MADE_OF_OBJECTS = {
    "configMap": "configmap",
    "secret": "secret",
    "downwardAPI": "downward-api",
    "projected": "projected",
}


@dataclass(slots=True)
class Volumes:
    """Where each volume of a pod is, and when those with tokens want to be made anew (monotonic; 0: never)."""

    places: dict[str, Path] = field(default_factory=dict)
    renewal: float = 0.0


async def prepare(client: Client, pod: Object, place: PodDirectory) -> Volumes:
    """Makes every volume, or sees that it is there. Raises PodFault for the first that cannot be had."""
    result = Volumes()
    user = user_of(pod, pod["spec"]["containers"][0])
    for volume in pod["spec"].get("volumes") or ():
        try:
            path, seconds = await _prepare(client, pod, place, volume, user)
        except PodFault as fault:
            raise PodFault("FailedMount", f"volume {volume['name']!r}: {fault.message}", final=fault.final) from fault
        result.places[volume["name"]] = path
        if seconds:
            due = time.monotonic() + seconds
            result.renewal = min(result.renewal or due, due)
    return result


async def _prepare(client: Client, pod: Object, place: PodDirectory, volume: Object, user: User) -> tuple[Path, float]:
    name = volume["name"]
    if "emptyDir" in volume:
        return await _empty(pod, place, name, volume["emptyDir"] or {}, user), 0.0
    if "hostPath" in volume:
        return _host_path(volume["hostPath"]), 0.0
    if "persistentVolumeClaim" in volume:
        return await claims.attach(client, pod, place, volume["persistentVolumeClaim"]["claimName"]), 0.0
    for sort, plugin in _MADE_OF_OBJECTS.items():
        if sort in volume:
            path = place.volume(plugin, name)
            files, seconds = await contents.files_of(client, pod, volume)
            place.make(path.parent)
            contents.write(path, files, user)
            return path, seconds
    sort = next((key for key in volume if key != "name"), "")
    why = f"{sort} is not supported on one machine; use emptyDir, hostPath, persistentVolumeClaim, {_names()}"
    raise PodFault("FailedMount", why, final=True)


def _names() -> str:
    return ", ".join(_MADE_OF_OBJECTS)


async def _empty(pod: Object, place: PodDirectory, name: str, wanted: Object, user: User) -> Path:
    path = place.volume("empty-dir", name)
    place.make(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    if wanted.get("medium") == "Memory" and os.geteuid() == 0:
        size = [f"size={whole(wanted['sizeLimit'])}"] if wanted.get("sizeLimit") else []
        await mount(path, "tmpfs", "tmpfs", ["mode=0700", *size])
    user.own(path)
    group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    if group is not None and os.geteuid() == 0:
        os.chown(path, -1, group)
        path.chmod(0o2770)
    return path


def _host_path(wanted: Object) -> Path:
    """The path itself, once it is what `type` says it must be."""
    path, sort = Path(wanted["path"]), wanted.get("type") or ""
    if sort == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif sort == "FileOrCreate":
        path.touch(mode=0o644, exist_ok=True)
    checks = {
        "Directory": path.is_dir,
        "DirectoryOrCreate": path.is_dir,
        "File": path.is_file,
        "FileOrCreate": path.is_file,
        "Socket": path.is_socket,
        "CharDevice": path.is_char_device,
        "BlockDevice": path.is_block_device,
    }
    if sort in checks and not checks[sort]():
        raise PodFault("FailedMount", f"hostPath {path} is no {sort}; put it right, or change hostPath.type")
    return path
