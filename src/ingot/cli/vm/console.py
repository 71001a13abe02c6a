"""`ingot vm console`: the serial console of a guest."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import Duration

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot vm console web --until 'login:' --timeout 2m </dev/null")
@click.argument("name")
@connection_options()
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
def console(name: str, connection: Connection, until: str, timeout: float | None, silence: float) -> None:
    """Talk to the serial console of a running machine. Leave with Ctrl-].

    It has one seat: who connects later takes it over. What the guest has said before is shown first, as far as it
    is kept. Works with pipes too: ingot vm console web < script.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.vm.talk import Ending, talk

        return await talk(session, name, Ending(until.encode(), timeout, silence))

    run(connection, work)
