"""The directory that holds everything of a server on one machine: database, keys, kubeconfig, log."""

import os
from pathlib import Path

import click


def default_directory() -> Path:
    """$XDG_STATE_HOME/ingot, which is ~/.local/state/ingot for most."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "ingot"


def _absolute(_context: click.Context, _option: click.Parameter, path: Path) -> Path:
    return path.expanduser().absolute()


directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_directory,
    show_default="~/.local/state/ingot",
    callback=_absolute,
    help="Directory of the server's data, keys, log and kubeconfig.",
)
