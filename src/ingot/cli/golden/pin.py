"""`ingot golden pin`: an image stays at a version."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.duration import timeout_option
from ingot.cli.golden.options import golden_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot golden pin fedora 3f2a1b9c")
@click.argument("name")
@click.argument("version", default="", metavar="[VERSION]")
@golden_options
@timeout_option("60s", "How long to wait until it stands for that version.")
def pin(name: str, version: str, connection: Connection, timeout: float) -> None:
    """Keep golden image NAME at VERSION, or at the present one, whatever its source has.

    VERSION is a tag, the first digits of a digest, or a name, as `ingot golden history` shows them: it must have been
    imported. New versions are still looked for, and told of, but not imported until `ingot golden unpin`. Where NAME
    does not move within --timeout, or the command is interrupted, it is left as it was.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.golden.found import find
        from ingot.cli.golden.moving import move
        from ingot.cli.golden.moving import pin as stay
        from ingot.cli.golden.version import choose

        golden = await find(session, name)
        chosen = choose(golden, version) if version else golden.current
        if chosen is None or not chosen.digest:
            raise click.ClickException(f"{name} stands for no version that could be kept; `ingot golden ls` says why")
        if golden.cron is None:
            await stay(session, golden, chosen.digest)
        await move(session, golden, chosen, timeout)
        click.echo(f"{name} stays at {chosen.title}; `ingot golden unpin {name}` lets it follow its source again.")
        return 0

    run(connection, work)
