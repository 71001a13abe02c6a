"""`ingot template`: objects with parameters, such as machines that start from golden images."""

import click

from ingot.cli.main import LazyGroup

COMMANDS = {
    "process": "ingot.cli.template.process:process",
    "ls": "ingot.cli.template.ls:ls",
}

_EXAMPLE = "Example: ingot template process fedora-server-small -p NAME=web | ingot apply -f -"


@click.group(cls=LazyGroup, places=COMMANDS, epilog=_EXAMPLE)
def template() -> None:
    """Templates: what there is, and objects made of them."""
