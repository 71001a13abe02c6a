"""`ingot vm restart`."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot vm restart web --wait")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@connection_options()
@click.option("--force", is_flag=True, help="At once, without letting the guest shut down.")
@click.option("--wait", is_flag=True, help="Return when it runs again.")
@timeout_option("5m", "How long to wait, for all together.")
@output_option("text", "json", "yaml")
def restart(
    names: tuple[str, ...], connection: Connection, force: bool, wait: bool, timeout: float, output: str
) -> None:
    """Stop machines and start them again, with what has changed in their specs.

    To reboot a guest and keep its overlays and clones, use its own reboot command.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.vm.acts import MACHINES, act_on_all
        from ingot.cli.vm.goals import present, until_running

        body = {"gracePeriodSeconds": 0} if force else {}
        former = await present(session, names)
        code = await act_on_all(session, MACHINES, names, "restart", body, "is being restarted", output)
        return await until_running(session, names, timeout, former) if wait and not code else code

    run(connection, work)
