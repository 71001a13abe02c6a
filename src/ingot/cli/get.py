"""`ingot get`: objects as a table, JSON, YAML or names, once or as they change."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import as_list, output_option, show, without_managers

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.table import Table
    from ingot.cli.target import Target

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PAGE = 500


@dataclass(frozen=True, slots=True)
class Query:
    """What is wanted of the targets."""

    selector: str
    field_selector: str
    output: str
    managers: bool

    @property
    def is_table(self) -> bool:
        return self.output in ("table", "wide")

    def parameters(self) -> dict[str, str]:
        selectors = {"labelSelector": self.selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in selectors.items() if value}

    def shown(self, obj: Object) -> Object:
        return obj if self.managers else without_managers(obj)


@click.command(epilog="Example: ingot get datavolumes,pvc -A --selector app=web --output wide")
@click.argument("what", nargs=-1, required=True, metavar="TYPE[,TYPE…] [NAME…] | TYPE/NAME…")
@connection_options(all_namespaces=True)
@click.option("--selector", "-l", default="", metavar="LABELS", help="Only those with these labels: app=web,tier!=db.")
@click.option("--field-selector", default="", metavar="FIELDS", help="Only those with these fields: metadata.name=x.")
@click.option("--watch", "-w", is_flag=True, help="Stay, and show every change until Ctrl-C.")
@click.option("--show-managed-fields", is_flag=True, help="With managedFields in JSON and YAML.")
@output_option("table", "wide", "json", "yaml", "name")
def get(
    what: tuple[str, ...],
    connection: Connection,
    selector: str,
    field_selector: str,
    watch: bool,
    show_managed_fields: bool,
    output: str,
) -> None:
    """Show objects, one line each or in full.

    TYPE is a plural, singular, kind or short name, with its group where it needs one: vm, datavolume,
    leases.coordination.k8s.io. The exit code is 1 when an object asked for by name is not there.
    """
    query = Query(selector, field_selector, output, show_managed_fields)

    async def work(session: "Session") -> int:
        from ingot.cli.target import check_names, resolve

        targets = await resolve(session.discovery, what)
        check_names(targets, all_namespaces=session.all_namespaces, selector=selector or field_selector)
        if watch:
            from ingot.cli.watching import follow

            return await follow(session, targets, query)
        return await (_show_tables if query.is_table else _show_objects)(session, targets, query)

    run(connection, work)


async def _show_tables(session: "Session", targets: "list[Target]", query: Query) -> int:
    from ingot.cli.table import lines, terminal_width

    missing: list[ApiError] = []
    blocks = []
    for target in targets:
        table, _ = await fetch_table(session, target, query, missing)
        decorate(table, session, target if len(targets) > 1 else None)
        if table.rows:
            blocks.append("\n".join(lines(table.columns, [row.cells for row in table.rows], terminal_width())))
    if blocks:
        click.echo("\n\n".join(blocks))
    elif not missing:
        say_none(session, targets)
    return report_missing(missing)


async def _show_objects(session: "Session", targets: "list[Target]", query: Query) -> int:
    from ingot.cli.target import existing

    found: list[Object] = []
    missing: list[ApiError] = []
    for target in targets:
        async for each in existing(session, target, query.selector, query.field_selector):
            if isinstance(each, ApiError):
                missing.append(each)
            else:
                found.append(query.shown(each))
    named = sum(len(target.names) for target in targets)
    if named == 1 and len(targets) == 1:
        for obj in found:
            show(obj, query.output)
    elif query.output != "name" or found:
        show(as_list(found), query.output)
    else:
        say_none(session, targets)
    return report_missing(missing)


async def fetch_table(
    session: "Session", target: "Target", query: Query, missing: list[ApiError]
) -> "tuple[Table, str]":
    """The target's rows, and the version of the list that they are of. Those not there are added to `missing`."""
    from ingot.cli.table import Table, from_wire

    if not target.names:
        return await _fetch_pages(session, target, query)
    table = Table()
    for name in target.names:
        try:
            found = from_wire(await _get_table(session, target.path(session, name), {}), wide=query.output == "wide")
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            missing.append(error)
            continue
        table.columns = found.columns
        table.rows += found.rows
    return table, ""


async def _fetch_pages(session: "Session", target: "Target", query: Query) -> "tuple[Table, str]":
    from ingot.cli.table import Table, from_wire

    table = Table()
    parameters = query.parameters() | {"limit": str(PAGE)}
    while True:
        answer = await _get_table(session, target.path(session), parameters)
        page = from_wire(answer, wide=query.output == "wide")
        table.columns = page.columns
        table.rows += page.rows
        metadata = answer.get("metadata") or {}
        if not metadata.get("continue"):
            table.sort()
            return table, str(metadata.get("resourceVersion", ""))
        parameters["continue"] = metadata["continue"]


async def _get_table(session: "Session", path: str, parameters: dict[str, str]) -> Object:
    import msgspec

    raw = await session.client.transport.request("GET", path, params=parameters, accept=AS_TABLE)
    answer: Object = msgspec.json.decode(raw)
    return answer


def decorate(table: "Table", session: "Session", target: "Target | None") -> None:
    """Name the type in each row where there are several, and the namespace where there are all."""
    if target and table.columns:
        for row in table.rows:
            row.cells[0] = f"{target.word}/{row.cells[0]}"
    if session.all_namespaces and any(row.metadata.get("namespace") for row in table.rows):
        table.prefix("NAMESPACE", [row.metadata.get("namespace", "") for row in table.rows])


def say_none(session: "Session", targets: "list[Target]") -> None:
    everywhere = session.all_namespaces or not any(target.served.resource.namespaced for target in targets)
    where = "" if everywhere else f" in {session.namespace} namespace"
    click.echo(f"No resources found{where}{'' if everywhere else '.'}", err=True)


def report_missing(missing: list[ApiError]) -> int:
    """Say what is not there; the exit code."""
    for error in missing:
        click.echo(f"Error: {error.message}", err=True)
    return 1 if missing else 0
