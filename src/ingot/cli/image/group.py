"""`ingot image`: disks in container registries, in and out."""

import click

from ingot.cli.main import LazyGroup

COMMANDS = {
    "push": "ingot.cli.image.push:push",
    "pull": "ingot.cli.image.pull:pull",
    "ls": "ingot.cli.image.ls:ls",
    "rm": "ingot.cli.image.rm:rm",
    "inspect": "ingot.cli.image.inspect:inspect",
    "verify": "ingot.cli.image.verify:verify",
    "diff": "ingot.cli.image.diff:diff",
    "trace": "ingot.cli.image.trace:trace",
}


_EXAMPLE = "Example: ingot image push debian-12.qcow2 registry.example/vmdisks/debian:12"


@click.group(cls=LazyGroup, places=COMMANDS, epilog=_EXAMPLE)
def image() -> None:
    """Disks in container registries: push, pull, look into and compare them."""
