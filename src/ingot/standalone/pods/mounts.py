"""What is mounted for pods, and taking it away again."""

import os
from collections.abc import Sequence
from pathlib import Path

from ingot.host.command import CommandFailed, Limits, run
from ingot.standalone.pods.fault import PodFault

_MOUNTS = Path("/proc/self/mounts")
_SECONDS = 60.0


async def mount(target: Path, kind: str, source: str, options: Sequence[str]) -> None:
    """Mounts a filesystem at `target`, unless something is mounted there. Raises PodFault."""
    if target in mounted_below(target):
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
    """Unmounts everything at or below `path`, the innermost first. Raises CommandFailed."""
    for place in sorted(mounted_below(path), key=lambda each: len(each.parts), reverse=True):
        await run(["umount", "--", str(place)], limits=Limits(seconds=_SECONDS))


def mounted_below(path: Path) -> list[Path]:
    """The mount points at or below `path`."""
    found = []
    for line in _MOUNTS.read_text().splitlines():
        place = Path(line.split(" ")[1].encode().decode("unicode_escape"))
        if place.is_relative_to(path):
            found.append(place)
    return found
