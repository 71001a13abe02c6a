"""What is mounted for pods, and taking it away again."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ingot.host.command import CommandFailed, Limits, run
from ingot.standalone.pods.fault import PodFault

_MOUNTS = Path("/proc/self/mountinfo")
# A space, a tab, a line's end or a backslash in a path stands there as three octal digits.
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_SECONDS = 60.0


async def mount(target: Path, kind: str, source: str, options: Sequence[str]) -> None:
    """Mounts a filesystem at `target`, unless something is mounted there. Raises PodFault."""
    if is_mounted(target):
        return
    if os.geteuid() != 0:
        why = f"a {kind} filesystem can be mounted by root only; run ingot as root, or use another volume"
        raise PodFault("FailedMount", why)
    chosen = ["-o", ",".join(options)] if options else []
    try:
        await run(["mount", "-t", kind, *chosen, "--", source, str(target)], limits=Limits(seconds=_SECONDS))
    except FileNotFoundError as error:
        raise PodFault("FailedMount", "there is no program `mount`; install the package mount") from error
    except CommandFailed as error:
        raise PodFault("FailedMount", f"mounting {kind} {source}: {error.stderr}; tried again") from error


async def unmount_below(path: Path) -> None:
    """Unmounts everything at or below `path`, the innermost first. Raises PodFault."""
    for place in sorted(mounted_below(path), key=lambda each: len(each.parts), reverse=True):
        try:
            await run(["umount", "--", str(place)], limits=Limits(seconds=_SECONDS))
        except CommandFailed as error:
            why = f"{error}; nothing in it is touched, and it is tried again"
            raise PodFault("FailedUnMount", why) from error


def is_mounted(path: Path) -> bool:
    """Whether something is mounted at `path` itself."""
    return path.parent.resolve() / path.name in mounted_below(path)


def mounted_below(path: Path) -> list[Path]:
    """The mount points at or below `path`, which may be reached by links."""
    # The kernel tells real paths. The last name is not looked at: what is mounted there may not answer.
    real = path.parent.resolve() / path.name
    places = (_unescaped(line.split(b" ")[4]) for line in _MOUNTS.read_bytes().splitlines())
    return [place for place in places if place.is_relative_to(real)]


def _unescaped(place: bytes) -> Path:
    return Path(os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), place)))
