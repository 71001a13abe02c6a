"""`ingot template ls`: all templates, and whether what they start from is there (G8)."""

from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.api.template.boot_source import BootSource
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot template ls -A --output json")
@connection_options(all_namespaces=True)
@output_option("table", "json", "yaml")
def ls(connection: Connection, output: str) -> None:
    """List templates, what their machines start from, and whether that is there: available, missing, or unknown where
    you may not look."""

    async def work(session: "Session") -> int:
        from ingot.api.resources import TEMPLATES
        from ingot.cli.roster import show_roster

        states: dict[BootSource, str] = {}
        rows = []
        async for page in session.client.pages(TEMPLATES, session.scope):
            for template in page["items"]:
                rows.append(await _row(session, template, states))
        show_roster(session, rows, output, "templates", "an SSP, such as that in examples/golden/ssp.yaml,")
        return 0

    run(connection, work)


async def _row(session: "Session", template: Object, states: dict["BootSource", str]) -> Object:
    from ingot.api.object import name_of, namespace_of
    from ingot.api.template.boot_source import boot_source
    from ingot.standalone.table import age

    source = boot_source(template)
    if source is not None and source not in states:
        states[source] = await _state(session, source)
    return {
        "namespace": namespace_of(template),
        "name": name_of(template),
        "source": f"{source.resource.kind} {source}" if source else "",
        "state": states[source] if source else "",
        "age": age.of(template),
    }


async def _state(session: "Session", source: "BootSource") -> str:
    from ingot.api.status import ApiError
    from ingot.api.template.boot_source import available

    try:
        found = await session.client.get(source.resource, source.name, source.namespace)
    except ApiError as error:
        if error.code == 403:
            return "unknown"
        if error.code != 404:
            raise
        found = None
    return "available" if available(source, found) else "missing"
