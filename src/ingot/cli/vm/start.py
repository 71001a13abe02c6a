"""`ingot vm start`."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot vm start web --wait")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@connection_options()
@click.option("--paused", is_flag=True, help="With its CPUs standing still, until `ingot vm unpause`.")
@click.option("--wait", is_flag=True, help="Return when it runs.")
@timeout_option("5m", "How long to wait, for all together.")
@output_option("text", "json", "yaml")
def start(
    names: tuple[str, ...], connection: Connection, paused: bool, wait: bool, timeout: float, output: str
) -> None:
    """Start machines that are stopped."""

    async def work(session: "Session") -> int:
        from ingot.cli.vm.acts import MACHINES, act_on_all
        from ingot.cli.vm.goals import until_running

        body = {"paused": True} if paused else {}
        code = await act_on_all(session, MACHINES, names, "start", body, "is being started", output)
        return await until_running(session, names, timeout) if wait and not code else code

    run(connection, work)
