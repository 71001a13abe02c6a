"""`ingot volume restore`: a volume as it was when a snapshot was taken."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.volume.options import Copy, copy_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume restore before-upgrade debian-as-it-was")
@copy_options("SNAPSHOT", size="Grow it to this size; without it, it is as large as the snapshot.")
def restore(copy: Copy, connection: Connection) -> None:
    """Make a volume NAME with what a snapshot holds. The snapshot and the volume that it is of stay as they are."""

    async def work(session: "Session") -> int:
        from ingot.cli.volume.making import make_copy

        return await make_copy(session, "snapshot", copy)

    run(connection, work)
