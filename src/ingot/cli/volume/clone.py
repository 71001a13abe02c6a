"""`ingot volume clone`: a volume like another."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.volume.options import Copy, copy_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume clone golden-images/fedora my-fedora")
@copy_options("CLAIM", size="Grow it to this size; without it, it is as large as CLAIM.")
def clone(copy: Copy, connection: Connection) -> None:
    """Make a volume NAME with what CLAIM holds.

    Where the storage can share blocks that takes a moment and no room; else bytes are copied. An event of the volume
    says which, and why. From another namespace it needs the right to create datavolumes/source there.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.volume.making import make_copy

        return await make_copy(session, "pvc", copy)

    run(connection, work)
