"""NAME=SOURCE and [ADDRESS]:PORT on command lines about exports."""

import re
from pathlib import Path
from typing import Any

import click

control_option = click.option(
    "--control",
    required=True,
    envvar="INGOT_SERVE_CONTROL",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The control socket of the server, also as $INGOT_SERVE_CONTROL.",
)


def parse_named(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Pairs by name. Paths become absolute: a server may run elsewhere."""
    found: dict[str, str] = {}
    for value in values:
        name, source = split(value)
        if name in found:
            raise click.BadParameter(f"{name!r} is there twice")
        found[name] = source
    return found


def split(value: str) -> tuple[str, str]:
    """One pair. Raises click.BadParameter."""
    from ingot.images.fault import ImageFault
    from ingot.images.pipeline.source import Kind, Source

    name, separator, source = value.partition("=")
    if not separator or not name or not source:
        raise click.BadParameter(f"{value!r} is not NAME=SOURCE, such as debian=debian.qcow2")
    try:
        parsed = Source.parse(source)
    except ImageFault as fault:
        raise click.BadParameter(str(fault)) from fault
    return name, str(Path(parsed.place).absolute()) if parsed.kind is Kind.FILE else source


def address(_context: click.Context, _option: click.Parameter, value: Any) -> Any:
    """[ADDRESS]:PORT, one or several, as pairs."""
    if value is None:
        return None
    return _address(value) if isinstance(value, str) else tuple(_address(each) for each in value)


def _address(value: str) -> tuple[str, int]:
    host, separator, port = value.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not [ADDRESS]:PORT, such as 127.0.0.1:10809 or [::1]:0")
    return host.removeprefix("[").removesuffix("]"), int(port)


def file_mode(_context: click.Context, _option: click.Parameter, value: str) -> int:
    """Rights of a file, as chmod has them in octal."""
    if not re.fullmatch("0?[0-7]{3}", value):
        raise click.BadParameter(f"{value!r} is not an octal mode, such as 600 or 660")
    return int(value, 8)
