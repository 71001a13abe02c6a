"""The one image of a node under test: busybox, as an archive that `ctr images import` takes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path

from ingot.api.kubevirt.names import LAUNCHER_IMAGE
from ingot.api.object import Object

BUSYBOX = Path("/bin/busybox")
IMAGE = "ingot.test/box:1"
# It serves as the launcher's image too: a launcher needs a shell, mkfifo and cat.
_NAMES = [IMAGE, f"docker.io/library/{LAUNCHER_IMAGE}:latest"]
_COMMANDS = ("cat", "dd", "echo", "mkfifo", "sh", "sleep", "stat")


def write(target: Path) -> None:
    """Makes the archive. A container of the image that is given no command sleeps, as a pod's own container does."""
    archive(target, _NAMES, {"Env": ["PATH=/bin"], "Cmd": ["/bin/sleep", "2147483647"]}, [_layer()])


def archive(target: Path, names: list[str], configuration: Object, layers: list[bytes]) -> None:
    """An image of these layers, each a tar, in the shape of `docker save`."""
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    described = {
        "architecture": "amd64",
        "os": "linux",
        "config": configuration,
        "rootfs": {"type": "layers", "diff_ids": digests},
    }
    files = [f"layer-{index}.tar" for index, _ in enumerate(layers)]
    manifest = [{"Config": "config.json", "RepoTags": names, "Layers": files}]
    with tarfile.open(target, "w") as made:
        for name, layer in zip(files, layers, strict=True):
            add(made, name, layer)
        add(made, "config.json", json.dumps(described).encode())
        add(made, "manifest.json", json.dumps(manifest).encode())


def _layer() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        add_commands(layer, _COMMANDS)
    return content.getvalue()


def add_commands(layer: tarfile.TarFile, commands: Iterable[str]) -> None:
    """Puts busybox into a layer, under the names of these commands."""
    add(layer, "bin/busybox", BUSYBOX.read_bytes(), 0o755)
    for command in commands:
        link = tarfile.TarInfo(f"bin/{command}")
        link.type, link.linkname = tarfile.SYMTYPE, "busybox"
        layer.addfile(link)


def add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
