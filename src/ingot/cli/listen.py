"""The option `--listen` of commands that serve."""

from collections.abc import Callable
from typing import Any

import click


def listen_option(
    default: str | None, *, everywhere: bool = False, name: str = "--listen", what: str = "Where to serve"
) -> Callable[[Any], Any]:
    """Adds `--listen`, or an option of another name, which the command gets as a pair of address and port.

    With `everywhere` the address may be empty, for all addresses. Without a default nothing is served unless it is
    given, and the value is None.
    """
    shape = "[ADDRESS]:PORT" if everywhere else "ADDRESS:PORT"

    def parse(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, int] | None:
        if value is None:
            return None
        host, separator, port = value.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not separator or not (host or everywhere) or not port.isdecimal() or int(port) > 65535:
            raise click.BadParameter(f"{value!r} is not {shape}, such as {default or '127.0.0.1:8444'} or [::1]:0")
        return host, int(port)

    where = f"{what}; port 0 takes any free one"
    return click.option(
        name,
        default=default,
        show_default=default is not None,
        metavar=shape,
        callback=parse,
        help=f"{where}, no address means all of them." if everywhere else f"{where}.",
    )


metrics_option = listen_option(
    None, everywhere=True, name="--metrics", what="Where to serve /metrics for Prometheus, if at all"
)


def taken(host: str, port: int) -> str:
    """What is wrong and what to do where another program listens already."""
    return f"{host}:{port} is taken by another program; choose another with --listen, or port 0 for a free one"
