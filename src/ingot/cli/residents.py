"""The guests that run on this machine, whether or not anything of Ingot does; and what is said when that ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.kube.cache import Key

if TYPE_CHECKING:
    from ingot.standalone.pods.workers import Worker


def guests(directory: Path) -> list[Key]:
    """Namespaces and names of the guests of a directory whose QEMU runs, sorted."""
    from ingot.node.emulators import emulators
    from ingot.node.record import Record

    machines = directory / "node" / "machines"
    records = [Record.load(place) for place in machines.iterdir()] if machines.is_dir() else []
    started = {record.uid: record.key for record in records if record and record.started}
    return sorted(started[uid] for uid in emulators() if uid in started) if started else []


def tell_guests(directory: Path) -> None:
    """Says which guests are left running, if any."""
    running = [str(guest) for guest in guests(directory)]
    if running:
        count = "1 guest runs" if len(running) == 1 else f"{len(running)} guests run"
        click.echo(f"{count} on: {', '.join(running)}; shut down with: ingot down --dir {directory} --guests")


def tell_workers(stopped: "Sequence[Worker]") -> None:
    """Says which claims were being filled by workers that were stopped, if any."""
    if stopped:
        count = "1 transfer" if len(stopped) == 1 else f"{len(stopped)} transfers"
        click.echo(f"Stopped {count}, which the next ingot up goes on with: {', '.join(w.filled for w in stopped)}")
