"""`ingot worker hold`."""

import signal

import click


@click.command(epilog="Example: ingot worker hold")
def hold() -> None:
    """Hold the volumes of the pod for the node's agent, which reads and writes them, until the pod is ended."""
    while True:
        signal.pause()
