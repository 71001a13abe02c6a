"""`ingot image`: disks in container registries, in and out."""

import click

from ingot.cli.main import LazyGroup

COMMANDS: dict[str, str] = {
    "ls": "ingot.cli.image.ls:ls",
    "rm": "ingot.cli.image.rm:rm",
    "pull": "ingot.cli.image.pull:pull",
}


@click.group(cls=LazyGroup, places=COMMANDS)
def image() -> None:
    """Disks in container registries: push, pull, look into and compare them."""
