"""`ingot vm ls`: all machines, one line each."""

from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.vm.found import Found


@click.command(epilog="Example: ingot vm ls -A --output json")
@connection_options(all_namespaces=True)
@output_option("table", "json", "yaml")
def ls(connection: Connection, output: str) -> None:
    """List machines, running or not."""

    async def work(session: "Session") -> int:
        from ingot.cli.roster import show_roster
        from ingot.cli.vm.found import find_all

        rows = [_row(found) for found in await find_all(session)]
        show_roster(session, rows, output, "machines", "`ingot vm run IMAGE`")
        return 0

    run(connection, work)


def _row(found: "Found") -> Object:
    from ingot.cli.vm.state import machine_word
    from ingot.kube.objects import is_true
    from ingot.standalone.table import age

    return {
        "namespace": found.namespace,
        "name": found.name,
        "status": machine_word(found.machine, found.instance),
        "age": age.of(found.any),
        "ready": bool(found.instance and is_true(found.instance, "Ready")),
        "node": found.status.get("nodeName", ""),
        "disks": [str(disk["name"]) for disk in found.disks],
    }
