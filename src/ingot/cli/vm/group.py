"""`ingot vm`: machines, from a disk to a running guest and back."""

import click

from ingot.cli.main import LazyGroup

COMMANDS = {
    "run": "ingot.cli.vm.run:run",
    "ls": "ingot.cli.vm.ls:ls",
    "describe": "ingot.cli.vm.describe:describe",
    "console": "ingot.cli.vm.console:console",
    "vnc": "ingot.cli.vm.vnc:vnc",
    "start": "ingot.cli.vm.start:start",
    "stop": "ingot.cli.vm.stop:stop",
    "restart": "ingot.cli.vm.restart:restart",
    "pause": "ingot.cli.vm.pause:pause",
    "unpause": "ingot.cli.vm.unpause:unpause",
    "rm": "ingot.cli.vm.rm:rm",
}


@click.group(cls=LazyGroup, places=COMMANDS, epilog="Example: ingot vm run debian-12.raw --console")
def vm() -> None:
    """Run virtual machines: start, stop, look at and talk to them."""
