"""Options of commands that make volumes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from ingot.cli.connection import Connection, connection_options
from ingot.cli.duration import Duration
from ingot.cli.output import output_option

MODES = ("Filesystem", "Block")


@dataclass(frozen=True, slots=True)
class Target:
    """What the volume is to be; "" for what its source and the cluster decide."""

    size: str = ""
    storage_class: str = ""
    mode: str = ""
    preallocate: bool = False


def target_options(*, size: str = "", required: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--size, --storage-class, --mode and --preallocate, given to the command as `target`. `size` is help."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @click.option("--size", default=None if required else "", required=required, metavar="SIZE", help=size)
        @click.option(
            "--storage-class", "--class", "storage_class", default="", metavar="NAME", help="If not the default class."
        )
        @click.option("--mode", type=click.Choice(MODES), default=None, help="If not what the storage class has.")
        @click.option("--preallocate", is_flag=True, help="Allocate all blocks, so that no write can lack room later.")
        @wraps(command)
        def with_target(*, size: str, storage_class: str, mode: str | None, preallocate: bool, **others: Any) -> None:
            command(target=Target(size, storage_class, mode or "", preallocate), **others)

        return with_target

    return decorate


def wait_options(command: Callable[..., None]) -> Callable[..., None]:
    """--wait and --timeout, given to the command as `wait` and `timeout`, which is None for ever."""
    command = click.option(
        "--timeout", type=Duration(), metavar="TIME", help="How long to wait; without it, until it is done."
    )(command)
    return click.option(
        "--wait/--no-wait", default=True, show_default=True, help="Return when it is filled, or cannot be."
    )(command)


@dataclass(frozen=True, slots=True)
class Copy:
    """A volume that is to be made with what another, or a snapshot, holds: `origin` is [NAMESPACE/]NAME."""

    origin: str
    name: str
    target: Target
    wait: bool
    timeout: float | None
    output: str


def copy_options(origin: str, *, size: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """ORIGIN, NAME and all options of a command that copies, given to it as `copy` and `connection`. `size` is help."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @click.argument("origin", metavar=f"[NAMESPACE/]{origin}")
        @click.argument("name")
        @target_options(size=size)
        @connection_options()
        @wait_options
        @output_option("text", "json", "yaml")
        @wraps(command)
        def with_copy(*, connection: Connection, **said: Any) -> None:
            command(copy=Copy(**said), connection=connection)

        return with_copy

    return decorate
