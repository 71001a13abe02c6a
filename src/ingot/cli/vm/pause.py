"""`ingot vm pause`."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot vm pause web")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@connection_options()
@output_option("text", "json", "yaml")
def pause(names: tuple[str, ...], connection: Connection, output: str) -> None:
    """Stop the CPUs of running machines; memory and disks stay as they are."""

    async def work(session: "Session") -> int:
        from ingot.cli.vm.acts import INSTANCES, act_on_all
        from ingot.cli.vm.goals import until_paused

        code = await act_on_all(session, INSTANCES, names, "pause", {}, "is paused", output)
        return code or await until_paused(session, names, paused=True)

    run(connection, work)
