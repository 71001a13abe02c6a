"""`ingot golden`: images that every namespace can boot, and that stay fresh by themselves."""

import click

from ingot.cli.main import LazyGroup

COMMANDS = {
    "add": "ingot.cli.golden.add:add",
    "publish": "ingot.cli.golden.publish:publish",
    "ls": "ingot.cli.golden.ls:ls",
    "history": "ingot.cli.golden.history:history",
    "check": "ingot.cli.golden.check:check",
    "rollback": "ingot.cli.golden.rollback:rollback",
    "pin": "ingot.cli.golden.pin:pin",
    "unpin": "ingot.cli.golden.unpin:unpin",
    "rm": "ingot.cli.golden.rm:rm",
}

_EXAMPLE = "Example: ingot golden add quay.io/containerdisks/fedora:latest --name fedora && ingot vm run golden:fedora"


@click.group(cls=LazyGroup, places=COMMANDS, epilog=_EXAMPLE)
def golden() -> None:
    """Golden images: name a registry image once, and every namespace can boot its newest version ever after."""
