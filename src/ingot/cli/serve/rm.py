"""`ingot serve rm`."""

from pathlib import Path

import click

from ingot.cli.output import output_option, show
from ingot.cli.serve.named import control_option


@click.command(epilog="Example: ingot serve rm debian --control /run/disks.control")
@click.argument("name")
@control_option
@output_option("text", "json")
def rm(name: str, control: Path, output: str) -> None:
    """Let a running server serve an export no more. Its clients are sent away."""
    from ingot.images.fault import ImageFault
    from ingot.serve.control import ask

    try:
        ask(control, {"do": "remove", "name": name})
    except ImageFault as fault:
        raise click.ClickException(str(fault)) from fault
    if output == "json":
        show({"name": name}, output)
    else:
        click.echo(f"{name} is served no more")
