"""`ingot volume watch`: how far volumes are."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import Duration
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume watch -A")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@connection_options(all_namespaces=True)
@click.option("--timeout", type=Duration(), metavar="TIME", help="How long to watch; without it, until all are done.")
@output_option("text", "json", "yaml")
def watch(names: tuple[str, ...], connection: Connection, timeout: float | None, output: str) -> None:
    """Show volumes while they are filled, a bar each, until all are done.

    Without names, all that are being filled, also claims without a DataVolume; not those that wait for an upload, or
    for their first use. The exit code is 1 when one has failed.
    """
    if names and connection.all_namespaces:
        raise click.UsageError("a name is one of a namespace; leave out -A, or the names")

    async def work(session: "Session") -> int:
        from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
        from ingot.cli.volume.board import Board
        from ingot.cli.volume.following import Following
        from ingot.cli.volume.state import FAILED, is_over, line, phase_of, waits_for_people

        done = is_over if names else lambda obj: is_over(obj) or waits_for_people(obj)
        with Board() as board:
            found = await Following(session, names, board, done, (DATA_VOLUMES, VOLUME_CLAIMS)).run(timeout)
        if output != "text":
            show(list(found.values()), output)
        else:
            click.echo("\n".join(f"{name}: {line(obj)}" for name, obj in found.items()) or "Nothing is being filled.")
        return 1 if any(phase_of(obj) == FAILED for obj in found.values()) else 0

    run(connection, work)
