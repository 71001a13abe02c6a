"""`ingot serve add`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.image.registry_options import platform_option
from ingot.cli.output import output_option, show
from ingot.cli.serve.named import control_option, split

if TYPE_CHECKING:
    from ingot.images.registry.manifest import Platform


@click.command(epilog="Example: ingot serve add debian=debian.qcow2 --control /run/disks.control")
@click.argument("export", metavar="NAME=SOURCE")
@click.option("--writable", is_flag=True, help="Let clients write to it.")
@click.option("--plain", is_flag=True, help="Serve the bytes of the file, not the disk in it.")
@platform_option
@control_option
@output_option("text", "json")
def add(export: str, writable: bool, plain: bool, platform: "Platform | None", control: Path, output: str) -> None:
    """Let a running server serve one more image.

    SOURCE is what `ingot serve --export` takes.
    """
    from ingot.images.fault import ImageFault
    from ingot.serve.control import ask
    from ingot.serve.entry import Entry

    name, source = split(export)
    entry = Entry(name, source, writable, plain, str(platform or ""))
    try:
        ask(control, {"do": "add", "entry": entry.record()})
    except ImageFault as fault:
        raise click.ClickException(str(fault)) from fault
    if output == "json":
        show({"name": name, "writable": writable, "plain": plain}, output)
    else:
        click.echo(f"{name} is served")
