"""`ingot delete`: end objects, and return when they are gone."""

from typing import TYPE_CHECKING, Literal

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.deleting import Result

Cascade = Literal["background", "foreground", "orphan"]


@click.command(epilog="Example: ingot delete datavolume fedora debian --namespace golden-images")
@click.argument("what", nargs=-1, metavar="TYPE NAME… | TYPE/NAME… | TYPE --all | -f FILE")
@click.option(
    "--filename",
    "-f",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    help="The objects of these manifests, last ones first. May be repeated.",
)
@connection_options(all_namespaces=True)
@click.option("--all", "everything", is_flag=True, help="All objects of the type, in the namespace.")
@click.option("--selector", "-l", default="", metavar="LABELS", help="Those with these labels: app=web,tier!=db.")
@click.option(
    "--cascade",
    type=click.Choice(["background", "foreground", "orphan"]),
    default="background",
    show_default=True,
    help="What becomes of the objects that it owns: deleted after it, before it, or left alone.",
)
@click.option("--wait/--no-wait", "wait", default=True, show_default=True, help="Return when they are gone.")
@timeout_option("60s", "How long to wait until they are gone, for all together.")
@click.option("--ignore-not-found", is_flag=True, help="What is not there is no error.")
@click.option("--dry-run", is_flag=True, help="Let the server check everything, and delete nothing.")
@output_option("text", "json", "yaml")
def delete(
    what: tuple[str, ...],
    files: tuple[str, ...],
    connection: Connection,
    everything: bool,
    selector: str,
    cascade: Cascade,
    wait: bool,
    timeout: float,
    ignore_not_found: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Delete objects by name, by label, or those of manifests.

    One that cannot be deleted does not keep the others; the exit code is 1 when there was one, or when one is
    still there after the timeout.
    """
    if bool(what) == bool(files):
        raise click.UsageError("say what to delete: TYPE NAME…, TYPE/NAME…, TYPE --all, or -f FILE")
    if files and (everything or selector):
        raise click.UsageError("--all and --selector do not go together with -f")

    async def work(session: "Session") -> int:
        from ingot.cli.deleting import Deleter, from_arguments, from_files
        from ingot.cli.waiting import Deadline

        if files:
            victims = await from_files(session, files)
        else:
            victims = await from_arguments(session, what, selector, everything)
        deadline = Deadline(timeout)
        deleter = Deleter(session, cascade, deadline if wait else None, ignore_not_found, dry_run)
        results = []
        async for result in deleter.delete(victims):
            results.append(result)
            _tell(result, output)
        if output != "text":
            show([result.as_object() for result in results], output)
        elif not results:
            click.echo("Nothing to delete", err=True)
        return 1 if any(result.problem for result in results) else 0

    run(connection, work)


def _tell(result: "Result", output: str) -> None:
    if result.problem:
        click.echo(f"Error: {result.problem}", err=True)
    elif output == "text":
        click.echo(f"{result.word} {result.outcome}")
