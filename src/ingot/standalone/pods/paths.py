"""Paths of a container that has no filesystem of its own.

A container of Ingot's image is a local process: it sees the machine's files. Where its command, arguments and
environment name a path below one of its mounts, they are given the place on the machine instead.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from ingot.api.object import Object
from ingot.standalone.pods.fault import PodFault


def places(container: Object, volumes: Mapping[str, Path], message: Path) -> dict[str, str]:
    """Path in the container → path on this machine, for every mount, device and the file for last words."""
    found = {container.get("terminationMessagePath") or "/dev/termination-log": str(message)}
    for mount in container.get("volumeMounts") or ():
        found[mount["mountPath"]] = str(inside(volumes, mount))
    for device in container.get("volumeDevices") or ():
        found[device["devicePath"]] = str(_volume(volumes, device["name"]))
    return found


def inside(volumes: Mapping[str, Path], mount: Object) -> Path:
    """What a mount shows: the volume, or the part of it that `subPath` names."""
    root = _volume(volumes, mount["name"])
    part = mount.get("subPath") or ""
    if not part:
        return root
    chosen = (root / part).resolve()
    if not chosen.is_relative_to(root.resolve()):
        raise PodFault("CreateContainerConfigError", f"subPath {part!r} leads out of volume {mount['name']!r}")
    return chosen


def _volume(volumes: Mapping[str, Path], name: str) -> Path:
    if name not in volumes:
        raise PodFault("CreateContainerConfigError", f"volumeMounts: the pod has no volume {name!r}", final=True)
    return volumes[name]


def translated(text: str, where: Mapping[str, str]) -> str:
    """The text with each path of the container that stands in it replaced; the longest match wins. What stands in an
    address is a path of somebody else's, unless that is a socket's."""
    known = sorted((path.rstrip("/") for path in where if path.rstrip("/")), key=len, reverse=True)
    if not known:
        return text
    stripped = {path.rstrip("/"): place for path, place in where.items()}
    # A path begins where no name goes on, and ends before a slash or where the name ends.
    pattern = re.compile(rf"\b(?!unix:)\w+://[^\s\"]*|(?<![\w./\]-])({'|'.join(map(re.escape, known))})(?![\w.-])")
    return pattern.sub(lambda match: stripped[match[1]] if match[1] else match[0], text)
