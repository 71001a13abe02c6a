"""The guests that run on this machine, whether or not anything of Ingot does."""

from pathlib import Path

from ingot.kube.cache import Key


def guests(directory: Path) -> list[Key]:
    """Namespaces and names of the guests of a directory whose QEMU runs, sorted."""
    from ingot.node.emulators import emulators
    from ingot.node.record import Record

    machines = directory / "node" / "machines"
    records = [Record.load(place) for place in machines.iterdir()] if machines.is_dir() else []
    started = {record.uid: record.key for record in records if record and record.started}
    return sorted(started[uid] for uid in emulators() if uid in started) if started else []
