"""`ingot get --watch`: what is there, then every change, for as long as the user stays."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.cli.get import AS_TABLE, Query, decorate, fetch_table, report_missing
from ingot.cli.output import show
from ingot.cli.table import Row, Table, fit, from_wire, line, terminal_width, widths
from ingot.cli.target import Target

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.kube.watch import WatchEvent

# How long one watch request lasts; then another goes on where it ended.
WATCH_SECONDS = 300
GRACE_SECONDS = 30


async def follow(session: "Session", targets: Sequence[Target], query: Query) -> int:
    """Shows one type until the user leaves. Returns early only when a named object is not there."""
    if len(targets) != 1 or len(targets[0].names) > 1:
        raise click.UsageError("--watch follows one type, or one object of it")
    target = targets[0]
    if query.is_table:
        return await _follow_table(session, target, query)
    return await _follow_objects(session, target, query)


async def _follow_table(session: "Session", target: Target, query: Query) -> int:
    screen = Screen(terminal_width())
    while True:
        missing: list[ApiError] = []
        table, version = await fetch_table(session, target, query, missing)
        if missing:
            return report_missing(missing)
        version = version or (str(table.rows[0].metadata.get("resourceVersion", "")) if table.rows else "")
        definitions: list[Object] = []
        decorate(table, session, None)
        screen.show(table)
        try:
            async for event in changes(session, target, query, version, AS_TABLE):
                # Only the first event of a watch says what the columns are.
                definitions = event.object.get("columnDefinitions") or definitions
                changed = from_wire(event.object | {"columnDefinitions": definitions}, wide=query.output == "wide")
                decorate(changed, session, None)
                screen.show(changed, deleted=event.type == "DELETED")
        except ApiError as error:
            if error.code != 410:
                raise


async def _follow_objects(session: "Session", target: Target, query: Query) -> int:
    while True:
        try:
            objects, version = await _now(session, target, query)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return report_missing([error])
        for obj in objects:
            _show_one(obj, query)
        try:
            async for event in changes(session, target, query, version, "application/json"):
                _show_one(event.object, query)
        except ApiError as error:
            if error.code != 410:
                raise


async def _now(session: "Session", target: Target, query: Query) -> tuple[list[Object], str]:
    """The objects as they are, and the version that they are of."""
    resource = target.served.resource
    if target.names:
        obj = await session.client.get(resource, target.names[0], session.namespace)
        return [obj], str(obj["metadata"]["resourceVersion"])
    page = await session.client.list(
        resource, session.scope, label_selector=query.selector, field_selector=query.field_selector
    )
    return page["items"], str(page["metadata"]["resourceVersion"])


def _show_one(obj: Object, query: Query) -> None:
    if query.output == "yaml":
        click.echo("---")
    show(query.shown(obj), query.output)


async def changes(
    session: "Session", target: Target, query: Query, version: str, accept: str
) -> "AsyncIterator[WatchEvent]":
    """Every change after `version`, over as many watches as it takes. Raises ApiError 410 when that is too old."""
    import aiohttp

    from ingot.kube.watch import watch_events

    parameters = query.parameters() | {"watch": "true", "timeoutSeconds": str(WATCH_SECONDS)}
    # Bookmarks keep the version young while nothing happens, so that the next watch can go on from it.
    parameters["allowWatchBookmarks"] = "true"
    if target.names:
        parameters["fieldSelector"] = f"metadata.name={target.names[0]}"
    scope = session.namespace if target.names else session.scope
    path = target.served.resource.path(scope)
    transport = session.client.transport
    limits = aiohttp.ClientTimeout(sock_read=WATCH_SECONDS + GRACE_SECONDS)
    while True:
        parameters["resourceVersion"] = version
        response = await transport.open("GET", path, params=parameters, headers={"Accept": accept}, limits=limits)
        async with aclosing(watch_events(response, transport.config.server)) as batches:
            async for batch in batches:
                for event in batch:
                    if event.type != "BOOKMARK":
                        yield event
                    version = _version(event.object) or version


def _version(obj: Object) -> str:
    """The resourceVersion of an object, or of the object in the row of a Table."""
    rows = obj.get("rows") or []
    held = rows[-1].get("object") or {} if rows else obj
    return str((held.get("metadata") or {}).get("resourceVersion", ""))


@dataclass(slots=True)
class Screen:
    """A table that grows downwards: columns are never made narrower, so that lines stay under their header."""

    available: int | None
    room: list[int] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    def show(self, table: Table, *, deleted: bool = False) -> None:
        if not table.rows:
            return
        cells = [row.cells for row in table.rows]
        wanted = widths(table.columns, cells)
        if table.columns != self.columns:
            self.columns, self.room = list(table.columns), [width + 2 for width in wanted]
            click.echo(line(self.columns, fit(self.room, self.available)))
        self.room = [max(pair) for pair in zip(self.room, wanted, strict=True)]
        room = fit(self.room, self.available)
        for row in table.rows:
            click.echo(self._line(row, room, deleted=deleted))

    def _line(self, row: Row, room: list[int], *, deleted: bool) -> str:
        return line(row.cells, room) + ("   (deleted)" if deleted else "")
