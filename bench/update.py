"""Promise 6 of images: an update of 10 MB in a disk of 1 GiB moves at most 1.3 times what a patch by zstd has.

The bytes are those that really come from the registry when the new version is pulled by somebody who has the old one.
Time and CPU are those of that pull, and of zstd that makes the new disk of the old one and the patch.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import cpu
from bench.debian import debian_disk
from bench.report import Row
from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.images.content import FileContent
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.images.zstd_chunked.writer import LEVEL

CHANGED = 10_000_000
START = 1 << 20
# zstd's own level, which the promise is about; and the one that pushes have.
LEVELS = (3, LEVEL)


@dataclass(frozen=True, slots=True)
class Update:
    """What makes a new disk of an old one: bytes that come, seconds of the clock and of the CPUs."""

    moved: int
    wall: float
    cpu: float


def programs() -> list[Path]:
    """Files to write to a disk."""
    return [path for path in sorted(Path("/usr/bin").iterdir()) if path.is_file() and not path.is_symlink()]


def run() -> list[Row]:
    texts = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py"))
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as directory, DockerRegistry() as server:
        rows = []
        for what, files in (("texts", texts), ("programs", programs())):
            new = changed(Path(directory), what, files)
            ours = _update(server, Path(directory), what, new)
            usual, same = (_patch(new, level) for level in LEVELS)
            rows += [
                Row(f"10 MB of {what} written, bytes moved", "MB", ours.moved / 1e6, usual.moved / 1e6, 1.3),
                Row(f"{what}: beside a patch of level {LEVELS[1]}", "MB", ours.moved / 1e6, same.moved / 1e6, None),
                Row(f"{what}: time", "s", ours.wall, usual.wall, None),
                Row(f"{what}: CPU", "s", ours.cpu, usual.cpu, None),
            ]
            new.unlink()
    return rows


def changed(directory: Path, what: str, files: Sequence[Path]) -> Path:
    """The Debian disk with 10 MB of these files written to its filesystem, as a guest would have."""
    disk = directory / f"{what}.raw"
    subprocess.run(["cp", "--sparse=always", debian_disk(), disk], check=True)
    commands, size = ["mkdir /opt/new"], 0
    for number, path in enumerate(files):
        if size >= CHANGED:
            break
        size += path.stat().st_size
        commands.append(f"write {path} /opt/new/{number}")
    script = directory / "commands"
    script.write_text("\n".join(commands) + "\n")
    where = f"{disk}?offset={START}"
    subprocess.run(["debugfs", "-w", "-f", script, where], check=True, capture_output=True)
    return disk


def _patch(new: Path, level: int) -> Update:
    """zstd's patch, which must make the new disk of the old one."""
    patch, made = new.with_suffix(".patch"), new.with_suffix(".patched")
    old = debian_disk()
    subprocess.run(["zstd", "-q", f"-{level}", "--long=30", f"--patch-from={old}", new, "-o", patch], check=True)
    began, used = time.monotonic(), cpu.of_children()
    subprocess.run(["zstd", "-q", "-d", "--long=30", f"--patch-from={old}", patch, "-o", made], check=True)
    update = Update(patch.stat().st_size, time.monotonic() - began, cpu.of_children() - used)
    if not filecmp.cmp(made, new, shallow=False):
        raise RuntimeError("zstd's patch does not make the new disk")
    made.unlink()
    patch.unlink()
    return update


def _update(server: DockerRegistry, directory: Path, what: str, new: Path) -> Update:
    """The new disk is pulled where the old one was pulled before."""
    old, made = directory / "old.raw", directory / "made.raw"
    with Registry(Settings()) as registry:
        push(registry, debian_disk(), Reference.parse(f"{server.host}/bench/debian:old"))
        push(registry, new, Reference.parse(f"{server.host}/bench/debian:{what}"))
    _pull(f"{server.host}/bench/debian:old", old, directory / "cache")
    with LimitedProxy(server.port) as proxy:
        began, used = time.monotonic(), cpu.of_children()
        _pull(f"{proxy.host}/bench/debian:{what}", made, directory / "cache")
        update = Update(proxy.sent, time.monotonic() - began, cpu.of_children() - used)
    if not filecmp.cmp(made, new, shallow=False):
        raise RuntimeError("the update does not make the new disk")
    # What was pulled once must not help the next one.
    made.unlink()
    return update


def push(registry: Registry, disk: Path, reference: Reference) -> None:
    with FileContent(disk) as content:
        push_disk(registry, content, reference, PushOptions())


def _pull(reference: str, target: Path, cache: Path) -> None:
    ingot = Path(sys.executable).with_name("ingot")
    command = [str(ingot), "image", "pull", "--force", "--cache", str(cache), reference, str(target)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
