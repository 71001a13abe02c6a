"""`ingot golden rollback`: an image stands for an older version again."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.duration import timeout_option
from ingot.cli.golden.options import golden_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot golden rollback fedora")
@click.argument("name")
@click.argument("version", default="", metavar="[VERSION]")
@golden_options
@timeout_option("60s", "How long to wait until it stands for that version.")
def rollback(name: str, version: str, connection: Connection, timeout: float) -> None:
    """Let golden image NAME stand for VERSION again, or for the one that served before the present one, and stay there.

    VERSION is a tag, the first digits of a digest, or a name, as `ingot golden history` shows them. New versions are
    still looked for, and wait until `ingot golden unpin`. Machines that are there already keep the disks they have.
    Where NAME does not move within --timeout, or the command is interrupted, it is left as it was.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.golden.found import find
        from ingot.cli.golden.moving import move
        from ingot.cli.golden.version import back

        golden = await find(session, name)
        chosen = back(golden, version)
        moved = await move(session, golden, chosen, timeout)
        click.echo(f"{name} stands for {chosen.title}")
        if moved.cron:
            click.echo(f"It stays there; `ingot golden unpin {name}` lets it follow its source again.")
        return 0

    run(connection, work)
