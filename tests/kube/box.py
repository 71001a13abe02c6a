"""The one image of a node under test: busybox, as an archive that `ctr images import` takes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

from ingot.api.kubevirt.names import LAUNCHER_IMAGE

BUSYBOX = Path("/bin/busybox")
IMAGE = "ingot.test/box:1"
# It serves as the launcher's image too: a launcher needs a shell, mkfifo and cat.
_NAMES = [IMAGE, f"docker.io/library/{LAUNCHER_IMAGE}:latest"]
_COMMANDS = ("cat", "dd", "echo", "mkfifo", "sh", "sleep", "stat")


def write(archive: Path) -> None:
    """Makes the archive. A container of the image that is given no command sleeps, as a pod's own container does."""
    layer = _layer()
    digest = hashlib.sha256(layer).hexdigest()
    configuration = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sleep", "2147483647"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": _NAMES, "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as made:
        _add(made, "layer.tar", layer)
        _add(made, "config.json", json.dumps(configuration).encode())
        _add(made, "manifest.json", json.dumps(manifest).encode())


def _layer() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        _add(layer, "bin/busybox", BUSYBOX.read_bytes(), 0o755)
        for command in _COMMANDS:
            link = tarfile.TarInfo(f"bin/{command}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
    return content.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
