"""`--usage-type`: the storage that this machine offers for copies of disks, checked before anyone relies on it."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from ingot.host.files import make_passable

# As long as a label may be, and made of the same: usage types are parts of labels of the Node.
_LONGEST = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class UnusableError(Exception):
    """The directory of a usage type cannot be used; the message says which, why, and what to do."""


def _read(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for value in values:
        name, separator, path = value.partition("=")
        if not name or not separator or not path:
            raise click.BadParameter(f"{value!r} is not NAME=DIR, such as fast=/mnt/nvme")
        if not _NAME.fullmatch(name) or len(name) > _LONGEST:
            raise click.BadParameter(
                f"{name!r} is no name of a usage type: take up to {_LONGEST} of a-z, 0-9 and -, such as fast"
            )
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice: each usage type has one directory")
        found[name] = Path(path).expanduser().absolute()
    return found


usage_type_option = click.option(
    "--usage-type",
    "usage_types",
    multiple=True,
    metavar="NAME=DIR",
    callback=_read,
    help="A usage type that this machine offers, and where its copies of disks go. May be given several times; "
    "`default` is always there.",
)


def check(usage_types: Mapping[str, Path]) -> None:
    """Makes the directories that are missing. Raises UnusableError for one that nothing can be written to."""
    for name, path in usage_types.items():
        try:
            make_passable(path)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise UnusableError(
                f"--usage-type {name}={path}: nothing can be written there ({error.strerror}); "
                "mend that, or give another directory"
            ) from error
