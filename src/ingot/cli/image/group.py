"""`ingot image`: disks in container registries, in and out."""

import click

from ingot.cli.main import LazyGroup

COMMANDS: dict[str, str] = {
    "push": "ingot.cli.image.push:push",
    "pull": "ingot.cli.image.pull:pull",
    "ls": "ingot.cli.image.ls:ls",
    "rm": "ingot.cli.image.rm:rm",
    "inspect": "ingot.cli.image.inspect:inspect",
    "verify": "ingot.cli.image.verify:verify",
    "diff": "ingot.cli.image.diff:diff",
    "trace": "ingot.cli.image.trace:trace",
}


@click.group(cls=LazyGroup, places=COMMANDS)
def image() -> None:
    """Disks in container registries: push, pull, look into and compare them."""
