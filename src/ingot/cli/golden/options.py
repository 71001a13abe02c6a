"""Options of commands about golden images."""

from collections.abc import Callable

import click

from ingot.cli.connection import connection_options
from ingot.cli.duration import Duration

# Where golden images are, unless told otherwise.
NAMESPACE = "golden-images"


def place_of(namespace: str, name: str) -> str:
    """What `ingot vm run` calls a golden image."""
    return f"golden:{name}" if namespace == NAMESPACE else f"golden:{namespace}/{name}"


golden_options = connection_options(namespace=NAMESPACE, namespace_help="Where the golden image is.")


def schedule_options(command: Callable[..., None]) -> Callable[..., None]:
    """--every and --schedule, given to the command as `every` and `schedule`, "" where that is not said."""
    command = click.option(
        "--schedule", default="", metavar="CRON", help='In place of --every, in UTC: "17 3 * * *" is daily at 03:17.'
    )(command)
    return click.option(
        "--every", default="", metavar="TIME", help="How often to look for a new version; without it, 12h."
    )(command)


def wait_options(until: str, timeout: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--wait and --timeout, given to the command as `wait` and `timeout`: seconds, or None for ever."""
    how_long = "How long to wait." if timeout else "How long to wait; without it, until it is done."

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        command = click.option(
            "--timeout", type=Duration(), default=timeout, show_default=bool(timeout), metavar="TIME", help=how_long
        )(command)
        return click.option("--wait/--no-wait", default=True, show_default=True, help=f"Return when {until}.")(command)

    return decorate
