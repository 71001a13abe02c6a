"""The option `--listen` of commands that serve."""

from collections.abc import Callable
from typing import Any

import click


def listen_option(default: str, *, everywhere: bool = False) -> Callable[[Any], Any]:
    """Adds `--listen`, which the command gets as `listen`: a pair of address and port.

    With `everywhere` the address may be empty, for all addresses.
    """
    shape = "[ADDRESS]:PORT" if everywhere else "ADDRESS:PORT"

    def parse(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, int]:
        host, separator, port = value.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not separator or not (host or everywhere) or not port.isdecimal() or int(port) > 65535:
            raise click.BadParameter(f"{value!r} is not {shape}, such as {default} or [::1]:0")
        return host, int(port)

    where = "Where to serve; port 0 takes any free one"
    return click.option(
        "--listen",
        default=default,
        show_default=True,
        metavar=shape,
        callback=parse,
        help=f"{where}, no address means all of them." if everywhere else f"{where}.",
    )


def taken(host: str, port: int) -> str:
    """What is wrong and what to do where another program listens already."""
    return f"{host}:{port} is taken by another program; choose another with --listen, or port 0 for a free one"
