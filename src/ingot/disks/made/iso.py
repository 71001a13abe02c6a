"""Small ISO images out of files in memory."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ingot.disks.source.refusal import refusal
from ingot.host.command import CommandFailed, run
from ingot.host.files import sync_directory

# The same files are the same image, whenever it is made.
_EPOCH = "0"


async def write_iso(volume: str, path: Path, label: str, files: Mapping[str, bytes]) -> None:
    """Makes the image, whole or not at all, for us alone. Names in `files` may have directories. Raises DiskFault."""
    scratch = path.with_name(f".{path.name}")
    tree, image = scratch / "tree", scratch / "image"
    try:
        # One that was left here by a maker that was killed may hold secrets, too.
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        _fill(tree, files)
        options = ["-quiet", "-volid", label, "-joliet", "-joliet-long", "-rational-rock"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
        await run(["xorriso", "-as", "mkisofs", *options, "-o", str(image), str(tree)], environment=environment)
        _publish(image, path)
    except (CommandFailed, OSError) as error:
        raise refusal(volume, "DiskNotMade", f"a disk cannot be made in {path.parent}: {error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fill(tree: Path, files: Mapping[str, bytes]) -> None:
    tree.mkdir(mode=0o700)
    for name, content in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for path in (tree, *tree.rglob("*")):
        os.utime(path, (0, 0))


def _publish(image: Path, path: Path) -> None:
    descriptor = os.open(image, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o600)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    image.replace(path)
    sync_directory(path.parent)
