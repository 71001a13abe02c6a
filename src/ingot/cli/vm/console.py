"""`ingot vm console`: the serial console of a guest."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import Duration

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# As long as virtctl waits for a machine to run.
START_SECONDS = 300.0


@click.command(epilog="Example: ingot vm console web --wait --until 'login:' --timeout 2m </dev/null")
@click.argument("name")
@connection_options()
@click.option("--wait", is_flag=True, help="If it does not run yet, wait for that first, up to 5 minutes.")
@click.option("--until", default="", metavar="TEXT", help="Leave when the guest has said this.")
@click.option("--timeout", type=Duration(), metavar="TIME", help="Leave after so long; with --until that is a failure.")
@click.option(
    "--silence",
    type=Duration(),
    default="2s",
    show_default=True,
    metavar="TIME",
    help="With input from a file or pipe: leave when the guest has been silent for so long after its end.",
)
def console(name: str, connection: Connection, wait: bool, until: str, timeout: float | None, silence: float) -> None:
    """Talk to the serial console of a running machine. Leave with Ctrl-].

    It has one seat: who connects later takes it over. What the guest has said before is shown first, as far as it
    is kept. Works with pipes too: ingot vm console web < script.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.vm.goals import until_running
        from ingot.cli.vm.talk import Ending, talk

        if wait and (code := await until_running(session, [name], START_SECONDS)):
            return code
        return await talk(session, name, Ending(until.encode(), timeout, silence))

    run(connection, work)
