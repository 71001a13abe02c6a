"""`ingot golden history`: the versions of an image."""

from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, run
from ingot.cli.golden.options import golden_options
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.golden.found import Golden
    from ingot.cli.golden.users import Users

# Users of a version that a table names; JSON has all.
_NAMED = 3


@click.command(epilog="Example: ingot golden history fedora")
@click.argument("name")
@golden_options
@output_option("table", "json", "yaml")
def history(name: str, connection: Connection, output: str) -> None:
    """Show the versions of golden image NAME, the newest first: when each was imported, and who uses it.

    One is current, or pinned; kept ones can be gone back to with `ingot golden rollback`, and those out of reach only
    when nothing follows NAME any more, for what follows it now has not imported them. Versions that are removed are
    shown for as long as a machine or a volume that was made from them is there. Where one is there twice, its class
    tells which is which.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.golden.found import find
        from ingot.cli.golden.standing import problem
        from ingot.cli.golden.users import find_users
        from ingot.cli.table import lines, terminal_width

        golden = await find(session, name)
        rows = _rows(golden, await find_users(session))
        if output != "table":
            show(rows, output)
            return 0
        told = problem(golden)
        if rows:
            cells = _cells(rows)
            click.echo("\n".join(lines(list(cells[0]), [list(each.values()) for each in cells], terminal_width())))
        elif not told:
            click.echo(f"{name} has no version yet.", err=True)
        if told:
            click.echo(f"{name}: {told}", err=True)
        return 0

    run(connection, work)


def _rows(golden: "Golden", users: "Users | None") -> list[Object]:
    from ingot.cli.golden.standing import state_of

    rows: list[Object] = [
        {
            "name": one.name,
            "version": one.version,
            "digest": one.digest,
            "importedAt": one.made if one.is_usable else "",
            "size": one.size,
            "storageClass": one.storage_class,
            "state": state_of(one, golden),
            "usedBy": None if users is None else users.of(one.key),
        }
        for one in golden.kept
    ]
    for key in users.gone(golden) if users else ():
        digits = key[1].removeprefix(f"{golden.name}-").partition("-")[0]
        unknown = dict.fromkeys(("digest", "importedAt", "size", "storageClass"), "")
        used = users.of(key) if users else []
        rows.append({"name": key[1], "version": digits, **unknown, "state": "removed", "usedBy": used})
    return rows


def _cells(rows: list[Object]) -> list[dict[str, str]]:
    """By title, with the class where that alone tells two lines apart."""
    digests = [row["digest"] for row in rows if row["digest"]]
    cells = [_line(row) for row in rows]
    if len(set(digests)) == len(digests):
        for each in cells:
            del each["CLASS"]
    return cells


def _line(row: Object) -> dict[str, str]:
    from ingot.cli.golden.kept import short
    from ingot.standalone.table.age import since

    used = row["usedBy"]
    named = "?" if used is None else ", ".join(used[:_NAMED])
    more = f" and {len(used) - _NAMED} more" if used and len(used) > _NAMED else ""
    imported = since(row["importedAt"]) if row["importedAt"] else "-"
    return {
        "VERSION": row["version"],
        "DIGEST": short(row["digest"]),
        "CLASS": row["storageClass"],
        "IMPORTED": imported,
        "SIZE": row["size"],
        "STATE": row["state"],
        "USED BY": named + more,
    }
