"""`ingot golden unpin`: an image follows its source again."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.golden.options import golden_options, wait_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot golden unpin fedora")
@click.argument("name")
@golden_options
@wait_options("the newest version that is known can be booted")
def unpin(name: str, connection: Connection, wait: bool, timeout: float | None) -> None:
    """Let golden image NAME follow its source again, after `pin` or `rollback`.

    The newest version that was seen meanwhile is imported where it is not kept.
    """

    async def work(session: "Session") -> int:
        from ingot.api.object import name_of
        from ingot.cli.golden.arrival import Arrival, is_settled
        from ingot.cli.golden.found import find
        from ingot.cli.golden.moving import pin

        golden = await find(session, name)
        await pin(session, golden, None)
        if not golden.pinned and not golden.bad_pin:
            click.echo(f"{name} was not pinned: there is nothing to do")
        elif not wait or golden.cron is None:
            click.echo(f"{name} follows its source again")
        else:
            now = await Arrival(session, name, name_of(golden.cron)).until(is_settled, timeout)
            click.echo(f"{name} follows its source again, and stands for {now.current.title if now.current else ''}")
        return 0

    run(connection, work)
