"""`ingot describe`: one object in sections that a person reads from top to bottom."""

from typing import TYPE_CHECKING, Any

import click

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option, show, without_managers

if TYPE_CHECKING:
    from ingot.cli.connection import Session

EVENTS = Resource("", "v1", "events", "Event")


@click.command(epilog="Example: ingot describe datavolume fedora --namespace golden-images")
@click.argument("what", nargs=-1, required=True, metavar="TYPE [NAME…] | TYPE/NAME…")
@connection_options(all_namespaces=True)
@click.option("--selector", "-l", default="", metavar="LABELS", help="Only those with these labels: app=web,tier!=db.")
@output_option("text", "json", "yaml")
def describe(what: tuple[str, ...], connection: Connection, selector: str, output: str) -> None:
    """Show what an object is, how it is doing and what happened to it, newest last.

    Values in Secrets are shown by their size only. The exit code is 1 when an object asked for by name is not
    there.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.get import report_missing, say_none
        from ingot.cli.portrait import discreet
        from ingot.cli.target import check_names, existing, resolve

        targets = await resolve(session.discovery, what)
        check_names(targets, all_namespaces=session.all_namespaces, selector=selector)
        found: list[tuple[Object, list[Object]]] = []
        missing: list[ApiError] = []
        for target in targets:
            async for each in existing(session, target, selector):
                if isinstance(each, ApiError):
                    missing.append(each)
                else:
                    found.append((discreet(without_managers(each)), await events_of(session, each)))
        if output == "text":
            _print(found)
        else:
            show([{"object": obj, "events": events} for obj, events in found], output)
        if not found and not missing:
            say_none(session, targets)
        return report_missing(missing)

    run(connection, work)


def _print(found: list[tuple[Object, list[Object]]]) -> None:
    from ingot.cli.portrait import portrait

    click.echo("\n\n".join(portrait(obj, events) for obj, events in found), nl=bool(found))


async def events_of(session: "Session", obj: Object) -> list[Object]:
    """The events of this very object, oldest first; none where the user may not read events."""
    fields = {"uid": uid_of(obj), "name": name_of(obj), "namespace": namespace_of(obj)}
    selector = ",".join(f"involvedObject.{name}={value}" for name, value in fields.items() if value)
    try:
        page = await session.client.list(EVENTS, namespace_of(obj), field_selector=selector)
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
        click.echo(f"Warning: events are not shown: {error.message}", err=True)
        return []
    return sorted((without_managers(event) for event in page["items"]), key=last_seen)


def last_seen(event: Object) -> str:
    """When an event happened last; RFC 3339 in UTC sorts as text."""
    series: Any = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((str(time) for time in times if time), str(event["metadata"].get("creationTimestamp", "")))
