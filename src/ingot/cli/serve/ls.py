"""`ingot serve ls`."""

from pathlib import Path
from typing import Any

import click

from ingot.cli.output import output_option, show
from ingot.cli.serve.named import control_option


@click.command(epilog="Example: ingot serve ls --control /run/disks.control")
@control_option
@output_option("text", "json")
def ls(control: Path, output: str) -> None:
    """List the exports of a running server."""
    from ingot.cli.table import lines, terminal_width
    from ingot.images.fault import ImageFault
    from ingot.serve.control import ask

    try:
        answer = ask(control, {"do": "list"})
    except ImageFault as fault:
        raise click.ClickException(str(fault)) from fault
    if output == "json":
        show(answer, output)
        return
    columns = ["NAME", "STATE", "SIZE", "MODE", "CLIENTS", "READ", "WRITTEN", "FETCHED", "ERRORS", "SOURCE"]
    rows = [_cells(export) for export in answer["exports"]]
    click.echo("\n".join(lines(columns, rows, terminal_width())))


def _cells(export: dict[str, Any]) -> list[str]:
    from ingot.cli.image.progress import in_bytes

    mode = ("writable" if export["writable"] else "read-only") + (", plain" if export["plain"] else "")
    size = "" if export["size"] is None else in_bytes(export["size"])
    figures = [in_bytes(export[what]) for what in ("read", "written", "fetched")]
    name, clients, errors = export["name"] or "(directory)", str(export["connections"]), str(export["errors"])
    return [name, _state(export), size, mode, clients, *figures, errors, export["source"]]


def _state(export: dict[str, Any]) -> str:
    """With how far it is, where much has to be fetched before it can be read."""
    from ingot.cli.image.progress import in_bytes

    progress = export["progress"]
    if not progress or not progress["done"]:
        return str(export["state"])
    return f"{export['state']}, {in_bytes(progress['done'])} of {in_bytes(progress['whole'])}"
