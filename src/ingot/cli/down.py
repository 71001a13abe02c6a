"""`ingot down`: ends the server of this machine and what runs beside it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.directory import directory_option

if TYPE_CHECKING:
    from ingot.standalone.pods.workers import Worker


@click.command(epilog="Example: ingot down --dir ~/lab --guests")
@directory_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for it to end, and for guests to shut down.",
)
@click.option("--guests", "with_guests", is_flag=True, help="Shut the guests down too, and end the private libvirtd.")
def down(directory: Path, timeout: float, with_guests: bool) -> None:
    """End the server of a directory and what works beside it, and return when all that has ended.

    Imports, uploads and copies that are under way stop too, and go on with the next `ingot up`. Guests and other pods
    run on, and the data stays: `ingot up` finds them again. Without a server there is nothing to do, and that is no
    error.
    """
    from ingot.cli.residents import tell_guests, tell_workers
    from ingot.standalone.pods import workers
    from ingot.standalone.process import NotEndedError, end, is_locked

    # The server stops them as it ends, and afterwards they could not be told.
    before = workers.running(directory / "kubelet")
    try:
        record = end(directory, timeout)
    except NotEndedError as error:
        raise click.ClickException(str(error)) from error
    if record is not None:
        click.echo(f"Ended the server at {record.address} (pid {record.pid})")
    elif is_locked(directory):
        raise click.ClickException(f"the server of {directory} is just starting; try again when it is up")
    else:
        click.echo(f"No server runs in {directory}")
    tell_workers([*(worker for worker in before if worker.was_stopped), *_stop_workers(directory)])
    if with_guests:
        _end_guests(directory, timeout)
    tell_guests(directory)


def _stop_workers(directory: Path) -> "list[Worker]":
    """Ends the workers that a killed server has left; none where another has just taken the directory, and them."""
    from ingot.standalone.pods import workers
    from ingot.standalone.process import DirectoryInUseError, DirectoryLock

    if not directory.is_dir():
        return []
    try:
        with DirectoryLock(directory):
            return workers.stop(directory / "kubelet")
    except DirectoryInUseError:
        return []


def _end_guests(directory: Path, timeout: float) -> None:
    import asyncio

    from ingot.cli.agent import guest_user
    from ingot.node.farewell import end_guests
    from ingot.node.link import HypervisorError
    from ingot.standalone.volumes.local import LocalVolumes

    if not (directory / "node").is_dir():
        return
    try:
        work = end_guests(directory / "node", directory / "kubelet", guest_user(directory), timeout)
        ended = asyncio.run(work)
    except HypervisorError as error:
        raise click.ClickException(f"the guests cannot be ended: {error}") from error
    for guest in ended.forced:
        click.echo(f"{guest} did not shut down in {timeout:g} s, and was ended")
    if ended.left:
        names = ", ".join(str(guest) for guest in ended.left)
        why = "QEMU waits for storage that does not answer; bring that back, or restart this computer, and try again"
        raise click.ClickException(f"{names} cannot be killed: {why}")
    if os.geteuid() == 0:
        LocalVolumes(directory / "volumes").detach_all()
