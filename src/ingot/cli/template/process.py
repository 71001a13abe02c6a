"""`ingot template process`: the objects of a template, with values for its parameters."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import as_list, output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot template process fedora-server-small -p NAME=web | ingot apply -f -")
@click.argument("name", metavar="[TEMPLATE]", default="")
@click.option("--filename", "-f", "file", metavar="FILE|-", default="", help="Take the template from a file.")
@click.option(
    "--param", "-p", "given", multiple=True, metavar="NAME=VALUE", help="The value of a parameter. May be repeated."
)
@click.option(
    "--param-file",
    "param_files",
    multiple=True,
    metavar="FILE|-",
    help="Values of parameters, NAME=VALUE on each line: passwords belong here, where nobody else sees them.",
)
@click.option("--parameters", is_flag=True, help="List the template's parameters instead.")
@connection_options()
@output_option("yaml", "json")
def process(
    name: str,
    file: str,
    given: tuple[str, ...],
    param_files: tuple[str, ...],
    parameters: bool,
    connection: Connection,
    output: str,
) -> None:
    """Print the objects of a template as a List that `ingot apply -f -` takes.

    TEMPLATE is its name on the server, or NAMESPACE/NAME; with --filename no server is asked. A value is the given one,
    else the parameter's own, else made. What the template has to say goes to standard error.
    """
    if bool(name) == bool(file):
        raise click.UsageError("name one template: by its name on the server, or as a file with --filename")
    values = _values(given, param_files)

    def finish(found: Object) -> None:
        if parameters:
            _list(found)
        else:
            _print(found, values, output)

    if file:
        from ingot.cli.template.file import template_in

        finish(template_in(file))
        return

    async def work(session: "Session") -> int:
        finish(await _named(session, name))
        return 0

    run(connection, work)


async def _named(session: "Session", name: str) -> Object:
    """The template of that name, or NAMESPACE/NAME. Raises ClickException when there is none."""
    from ingot.api.resources import TEMPLATES
    from ingot.api.status import ApiError

    namespace, _, plain = name.rpartition("/")
    namespace = namespace or session.namespace
    try:
        return await session.client.get(TEMPLATES, plain, namespace)
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        raise click.ClickException(
            f"there is no template {plain} in namespace {namespace}\n"
            "`ingot template ls -A` shows those of all namespaces; NAMESPACE/NAME names one of another."
        ) from error


def _values(given: tuple[str, ...], files: tuple[str, ...]) -> dict[str, str]:
    """Values by parameter; those on the command line come after those in files."""
    found: dict[str, str] = {}
    for file in files:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise click.ClickException(f"{file} cannot be read: {error}") from error
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                _take(found, line, f"{file}, line {number}")
    for pair in given:
        _take(found, pair, "--param")
    return found


def _take(found: dict[str, str], pair: str, place: str) -> None:
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        # What stands there may be a password.
        raise click.UsageError(f"{place}: NAME=VALUE is expected, such as NAME=web")
    found[name.strip()] = value


def _print(found: Object, values: dict[str, str], output: str) -> None:
    from ingot.api.template.process import TemplateError
    from ingot.api.template.process import process as fill

    try:
        made = fill(found, values)
    except TemplateError as error:
        faults = "\n".join(f"  {fault.message}" for fault in error.faults)
        raise click.ClickException(f"template {error.name} cannot be filled in:\n{faults}") from error
    show(as_list(made["objects"]), output)
    if made.get("message"):
        click.echo(made["message"].rstrip(), err=True)


def _list(found: Object) -> None:
    from ingot.cli.table import lines, terminal_width

    rows = [
        [
            each["name"],
            each.get("description", ""),
            each.get("generate", ""),
            each.get("value") or each.get("from", ""),
            "yes" if each.get("required") else "",
        ]
        for each in found.get("parameters") or ()
    ]
    titles = ["NAME", "DESCRIPTION", "GENERATOR", "VALUE", "REQUIRED"]
    click.echo("\n".join(lines(titles, rows, terminal_width())))
