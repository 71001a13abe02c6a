"""`ingot worker`: what pods run to fill a volume. It is for controllers, and not shown to people."""

import os
import signal
from types import FrameType

import click

from ingot.cli.main import LazyGroup

COMMANDS = {
    "import": "ingot.cli.worker.import_:import_",
    "inspect": "ingot.cli.worker.inspect:inspect",
    "copy": "ingot.cli.worker.copy:copy",
    "upload": "ingot.cli.worker.upload:upload",
    "hold": "ingot.cli.worker.hold:hold",
}


@click.group(cls=LazyGroup, places=COMMANDS, hidden=True, epilog="Example: ingot worker import --help")
def worker() -> None:
    """Fill volumes, each in a pod: its words are for the controllers that started it."""
    # A disk is for its owner and, as CDI has it, the group that its volume is given to.
    os.umask(0o007)
    if os.getpid() == 1:
        # The kernel keeps the first process of a container from signals that it does not handle.
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    """At once: whoever comes next goes on with what is there, as after a kill."""
    os._exit(128 + number)
