"""`ingot volume blank`: an empty disk."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option
from ingot.cli.volume.options import Target, target_options, wait_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume blank data --size 20Gi")
@click.argument("name")
@target_options(size="How large it is.", required=True)
@connection_options()
@wait_options
@output_option("text", "json", "yaml")
def blank(name: str, target: Target, connection: Connection, wait: bool, timeout: float | None, output: str) -> None:
    """Make a volume NAME with an empty disk in it."""

    async def work(session: "Session") -> int:
        from ingot.cli.volume.making import make
        from ingot.cli.volume.plan import manifest

        wanted = manifest(name, session.namespace, {"blank": {}}, target)
        return await make(session, wanted, wait, timeout, output)

    run(connection, work)
