"""The guests that run on this machine, whether or not anything of Ingot does."""

from itertools import pairwise
from pathlib import Path

from ingot.kube.cache import Key

_PROC = Path("/proc")


def guests(directory: Path) -> list[Key]:
    """Namespaces and names of the guests of a directory whose QEMU runs, sorted."""
    from ingot.node.record import Record

    machines = directory / "node" / "machines"
    records = [Record.load(place) for place in machines.iterdir()] if machines.is_dir() else []
    started = {record.domain: record.key for record in records if record and record.started}
    if not started:
        return []
    return sorted(started[domain] for domain in _domains() if domain in started)


def _domains() -> set[str]:
    """The names that libvirt has given the QEMU processes of this machine."""
    found = set()
    for place in _PROC.iterdir():
        if place.name.isdecimal():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            for option, value in pairwise(words):
                if option == b"-name" and value.startswith(b"guest="):
                    found.add(value.removeprefix(b"guest=").partition(b",")[0].decode())
    return found
