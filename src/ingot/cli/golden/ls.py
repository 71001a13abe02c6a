"""`ingot golden ls`: all golden images, one line each."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.golden.found import Golden
    from ingot.cli.golden.users import Users


@click.command(epilog="Example: ingot golden ls -n golden-images --output json")
@connection_options(namespace_help="Only those of this namespace, not of all.")
@output_option("table", "json", "yaml")
def ls(connection: Connection, output: str) -> None:
    """List golden images: which version each stands for, how old that is, when a newer one is looked for next, and how
    many machines and volumes were made from it.

    What somebody has to see to follows the table. A cron NAME whose DataSource another one has is listed as cron/NAME.
    """
    connection = replace(connection, all_namespaces=not connection.namespace)

    async def work(session: "Session") -> int:
        from ingot.cli.golden.standing import problem
        from ingot.cli.golden.users import find_users
        from ingot.cli.roster import show_roster

        session, found = await _all(session)
        users = await find_users(session)
        if output != "table":
            show([_row(each, users) for each in found], output)
            return 0
        rows = [_cells(_row(each, users)) for each in found]
        show_roster(session, rows, output, "golden images", "`ingot golden add REF --name NAME`")
        for each in found:
            if told := problem(each):
                click.echo(f"{each.name}: {told}", err=True)
        return 0

    run(connection, work)


async def _all(session: "Session") -> "tuple[Session, list[Golden]]":
    """Those of all namespaces, or of the usual one where this user may not see all; and where that was."""
    from ingot.api.status import ApiError
    from ingot.cli.golden.found import find_all
    from ingot.cli.golden.options import NAMESPACE

    try:
        return session, await find_all(session)
    except ApiError as error:
        if error.reason != "Forbidden" or not session.all_namespaces:
            raise
    click.echo(f"These are those of namespace {NAMESPACE} alone: you may not list those of all.", err=True)
    session = replace(session, namespace=NAMESPACE, all_namespaces=False)
    return session, await find_all(session)


def _row(golden: "Golden", users: "Users | None") -> Object:
    from ingot.api.cdi.names import NEXT_CRON_TIME
    from ingot.cli.golden.found import target
    from ingot.cli.golden.standing import is_ready, problem, source_of, word

    current = golden.current
    elsewhere = "/".join(target(golden.link) or ()) if is_ready(golden) else ""
    return {
        "namespace": golden.namespace,
        "name": golden.name,
        "version": current.title if current else elsewhere,
        "digest": current.digest if current else "",
        "importedAt": current.made if current else "",
        "nextCheck": golden.notes.get(NEXT_CRON_TIME, ""),
        "ready": is_ready(golden),
        "state": word(golden),
        "pinned": golden.pinned,
        "problem": problem(golden),
        "source": source_of(golden),
        "usedBy": None if users is None else users.of_all(golden),
    }


def _cells(row: Object) -> Object:
    from ingot.standalone.table.age import since

    used = row["usedBy"]
    words = ["yes" if row["ready"] else "no", row["state"], "pinned" if row["pinned"] else ""]
    return {
        "namespace": row["namespace"],
        "name": row["name"],
        "version": row["version"] or "none",
        "age": since(row["importedAt"]) if row["importedAt"] else "-",
        "next": until(row["nextCheck"]),
        "ready": ", ".join(dict.fromkeys(filter(None, words))),
        "used by": "?" if used is None else str(len(used)),
    }


def until(timestamp: str) -> str:
    """How long it is until then: `5h`, `now` for what is due, and `-` for never."""
    from datetime import UTC, datetime

    from ingot.standalone.table.age import INVALID, human

    if not timestamp:
        return "-"
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return INVALID
    left = (moment - datetime.now(UTC)).total_seconds() if moment.tzinfo else -1.0
    return human(left) if left > 0 else "now"
