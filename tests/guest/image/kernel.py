"""Debian's cloud kernel for guests: its package is unpacked in the cache, and never installed on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from guest.image.lock import locked

_META_PACKAGE = "linux-image-cloud-amd64"
_PACKAGE = re.compile(r"^\s*Depends: (linux-image-\S+-cloud-amd64)$", re.MULTILINE)


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    directory: Path

    @property
    def image(self) -> Path:
        return next(self.directory.glob("boot/vmlinuz-*"))

    @property
    def modules(self) -> Path:
        return next(self.directory.glob("lib/modules/*"))


def kernel(cache: Path) -> Kernel:
    """The newest kernel of the cache; where it has none, the newest that apt knows is fetched into it first."""
    with locked(cache / "guest-kernel.lock"):
        there = sorted(path for path in cache.glob("guest-kernel-*") if path.is_dir())
        return Kernel(there[-1] if there else _fetch(cache))


def _fetch(cache: Path) -> Path:
    name = _newest()
    target = cache / f"guest-kernel-{name.removeprefix('linux-image-')}"
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        _download(name, Path(scratch))
        package = next(Path(scratch).glob("*.deb"))
        unpacked = Path(scratch) / "unpacked"
        subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        shutil.rmtree(unpacked / "usr", ignore_errors=True)
        unpacked.rename(target)
    return target


def _newest() -> str:
    answer = subprocess.run(["apt-cache", "depends", _META_PACKAGE], capture_output=True, text=True)
    found = _PACKAGE.search(answer.stdout)
    if found is None:
        raise FileNotFoundError(f"apt knows no {_META_PACKAGE}: run `apt-get update`")
    return found[1]


def _download(name: str, directory: Path) -> None:
    """Fetches a package. Lists that are older than the archive name files that are gone: as root they are renewed."""
    command = ["apt-get", "download", "-q", name]
    if subprocess.run(command, cwd=directory, capture_output=True).returncode == 0:
        return
    if os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-q"], check=True, capture_output=True)
        subprocess.run(["apt-get", "download", "-q", _newest()], cwd=directory, check=True, capture_output=True)
        return
    raise FileNotFoundError(f"apt could not fetch {name}: run `apt-get update` as root")
