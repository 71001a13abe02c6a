"""The directory that holds everything of a server on one machine: database, keys, kubeconfig, log."""

import os
from pathlib import Path

import click

# Root's home is closed to the user that guests run as.
_ROOTS = Path("/var/lib/ingot")


def default_directory() -> Path:
    """$XDG_STATE_HOME/ingot where that is set, else /var/lib/ingot for root and ~/.local/state/ingot for all others."""
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state) / "ingot"
    return _ROOTS if os.geteuid() == 0 else Path.home() / ".local" / "state" / "ingot"


def _absolute(_context: click.Context, _option: click.Parameter, path: Path) -> Path:
    return path.expanduser().absolute()


directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_directory,
    show_default="~/.local/state/ingot, for root /var/lib/ingot",
    callback=_absolute,
    help="Directory of the server's data, keys, log and kubeconfig.",
)
