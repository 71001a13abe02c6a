"""`ingot apply`: make the objects of manifests be there as they are written."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.applying import Result
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot apply -f examples/golden-image.yaml")
@click.option(
    "--filename",
    "-f",
    "files",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    help="Manifests in YAML or JSON; a directory with all below it; - is standard input. May be repeated.",
)
@connection_options()
@click.option("--dry-run", is_flag=True, help="Let the server check and complete everything, and store nothing.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that another manager has set.")
@output_option("text", "json", "yaml")
def apply(files: tuple[str, ...], connection: Connection, dry_run: bool, force_conflicts: bool, output: str) -> None:
    """Create or change objects so that they are as the manifests say.

    Fields that the manifests do not mention are left to others; fields that they no longer mention are removed.
    Namespaces and CustomResourceDefinitions come first. One bad object does not keep the others from being
    applied; the exit code is 1 when there was one.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.applying import Applier, result_of
        from ingot.cli.manifest import Manifest, ManifestError, read

        found = list(read(files))
        results = [result_of(each) for each in found if isinstance(each, ManifestError)]
        manifests = [each for each in found if isinstance(each, Manifest)]
        applier = Applier(session, dry_run=dry_run, force=force_conflicts)
        for result in results:
            _tell(result, output)
        async for result in applier.apply(manifests):
            results.append(result)
            _tell(result, output)
        if output != "text":
            show([result.as_object() for result in results], output)
        return 1 if any(result.problem for result in results) else 0

    run(connection, work)


def _tell(result: "Result", output: str) -> None:
    """Failures go to standard error in any case."""
    if result.problem:
        click.echo(f"Error: {result.place}: {result.problem}", err=True)
    elif output == "text":
        click.echo(f"{result.word} {result.outcome}")
