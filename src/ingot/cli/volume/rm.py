"""`ingot volume rm`: volumes and what they hold."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.deleting import Victim


@click.command(epilog="Example: ingot volume rm debian scratch")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@connection_options()
@click.option("--force", is_flag=True, help="Also those that machines or pods use.")
@timeout_option("60s", "How long to wait until nothing is left, for all together.")
@output_option("text", "json", "yaml")
def rm(names: tuple[str, ...], connection: Connection, force: bool, timeout: float, output: str) -> None:
    """Remove volumes with all that they hold, and return when nothing of them is left.

    Work on them is ended. Nothing is removed where a machine, running or not, or a pod uses one of them, unless --force
    says so: it stays until who uses it has ended then, and no longer.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.deleting import Deleter
        from ingot.cli.waiting import Deadline

        victims = [await _victim(session, name, force) for name in dict.fromkeys(names)]
        deleter = Deleter(session, "foreground", Deadline(timeout), ignore_not_found=False, dry_run=False)
        results = []
        async for result in deleter.delete(victims):
            results.append(result)
            if result.problem:
                click.echo(f"Error: {result.problem}", err=True)
            elif output == "text":
                click.echo(f"{result.word} removed")
        if output != "text":
            show([result.as_object() for result in results], output)
        return 1 if any(result.problem for result in results) else 0

    run(connection, work)


async def _victim(session: "Session", name: str, force: bool) -> "Victim":
    """The DataVolume of that name with all that it owns, or the claim where there is none. Raises ClickException for
    one that is used, unless that is to be forced."""
    from ingot.api.object import uid_of
    from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
    from ingot.cli.deleting import Victim
    from ingot.cli.volume.plan import found
    from ingot.cli.volume.users import find_users

    for resource in (DATA_VOLUMES, VOLUME_CLAIMS):
        if known := await found(session, resource, name):
            users = await find_users(session, name)
            if users and not force:
                cures = ", ".join(dict.fromkeys(user.cure for user in users))
                raise click.ClickException(
                    f"{name} is used by {', '.join(map(str, users))}, and what it holds would be lost to that\n"
                    f"Nothing was removed. End who uses it first: {cures}; or use --force."
                )
            holder = ", ".join(str(user) for user in users if user.holds)
            return Victim(name, resource, name, session.namespace, uid_of(known), holder=holder)
    raise click.ClickException(
        f"there is no volume {name} in namespace {session.namespace}\n"
        "`ingot volume ls -A` shows those of all namespaces."
    )
