"""`ingot vm stop`."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import Duration, timeout_option
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot vm stop web --grace 10s --wait")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@connection_options()
@click.option("--grace", type=Duration(), metavar="TIME", help="How long the guest may take, if not as its spec says.")
@click.option("--force", is_flag=True, help="At once, as if the power failed: the same as --grace 0s.")
@click.option("--wait", is_flag=True, help="Return when it has stopped.")
@timeout_option("5m", "How long to wait, for all together.")
@output_option("text", "json", "yaml")
def stop(
    names: tuple[str, ...],
    connection: Connection,
    grace: float | None,
    force: bool,
    wait: bool,
    timeout: float,
    output: str,
) -> None:
    """Stop machines: the guest is asked to shut down, and ended when it does not.

    Their disks stay, but what is in overlays and clones goes.
    """
    if force and grace:
        raise click.UsageError("--force gives no time; leave --grace out")

    async def work(session: "Session") -> int:
        from ingot.cli.vm.acts import MACHINES, act_on_all
        from ingot.cli.vm.goals import until_gone

        seconds = 0 if force else grace
        body = {} if seconds is None else {"gracePeriod": round(seconds)}
        code = await act_on_all(session, MACHINES, names, "stop", body, "is being stopped", output)
        return await until_gone(session, names, timeout) if wait and not code else code

    run(connection, work)
