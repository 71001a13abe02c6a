"""Promise 6 of images: an update of 10 MB in a disk of 1 GiB moves at most 1.3 times what a patch by zstd has.

The bytes are those that really come from the registry when the new version is pulled by somebody who has the old one.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.debian import debian_disk
from bench.report import Row
from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.images.content import FileContent
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

_CHANGED = 10_000_000
_START = 1 << 20


def run() -> list[Row]:
    programs = [path for path in sorted(Path("/usr/bin").iterdir()) if path.is_file() and not path.is_symlink()]
    texts = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py"))
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as directory, DockerRegistry() as server:
        rows = []
        for what, files in (("texts", texts), ("programs", programs)):
            new = _changed(Path(directory), what, files)
            ours = _update(server, Path(directory), what, new)
            rows.append(Row(f"10 MB of {what} written, bytes moved", "MB", ours / 1e6, _patch(new) / 1e6, 1.3))
            new.unlink()
    return rows


def _changed(directory: Path, what: str, files: Sequence[Path]) -> Path:
    """The Debian disk with 10 MB of these files written to its filesystem, as a guest would have."""
    disk = directory / f"{what}.raw"
    subprocess.run(["cp", "--sparse=always", debian_disk(), disk], check=True)
    commands, size = ["mkdir /opt/new"], 0
    for number, path in enumerate(files):
        if size >= _CHANGED:
            break
        size += path.stat().st_size
        commands.append(f"write {path} /opt/new/{number}")
    script = directory / "commands"
    script.write_text("\n".join(commands) + "\n")
    where = f"{disk}?offset={_START}"
    subprocess.run(["debugfs", "-w", "-f", script, where], check=True, capture_output=True)
    return disk


def _patch(new: Path) -> int:
    """The size of zstd's patch, which must make the new disk of the old one."""
    patch, made = new.with_suffix(".patch"), new.with_suffix(".patched")
    old = debian_disk()
    subprocess.run(["zstd", "-q", "--long=30", f"--patch-from={old}", new, "-o", patch], check=True)
    subprocess.run(["zstd", "-q", "-d", "--long=30", f"--patch-from={old}", patch, "-o", made], check=True)
    if not filecmp.cmp(made, new, shallow=False):
        raise RuntimeError("zstd's patch does not make the new disk")
    size = patch.stat().st_size
    made.unlink()
    patch.unlink()
    return size


def _update(server: DockerRegistry, directory: Path, what: str, new: Path) -> int:
    """How many bytes come from the registry when the new disk is pulled where the old one was pulled before."""
    old, made = directory / "old.raw", directory / "made.raw"
    with Registry(Settings()) as registry:
        _push(registry, debian_disk(), Reference.parse(f"{server.host}/bench/debian:old"))
        _push(registry, new, Reference.parse(f"{server.host}/bench/debian:{what}"))
    _pull(f"{server.host}/bench/debian:old", old, directory / "cache")
    with LimitedProxy(server.port) as proxy:
        _pull(f"{proxy.host}/bench/debian:{what}", made, directory / "cache")
    if not filecmp.cmp(made, new, shallow=False):
        raise RuntimeError("the update does not make the new disk")
    # What was pulled once must not help the next one.
    made.unlink()
    return proxy.sent


def _push(registry: Registry, disk: Path, reference: Reference) -> None:
    with FileContent(disk) as content:
        push_disk(registry, content, reference, PushOptions())


def _pull(reference: str, target: Path, cache: Path) -> None:
    ingot = Path(sys.executable).with_name("ingot")
    command = [str(ingot), "image", "pull", "--force", "--cache", str(cache), reference, str(target)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
