"""What all workers have in common: progress that can be asked for, and a report at the end."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ingot.api.cdi.names import DISK_NAME
from ingot.cli.listen import listen_option
from ingot.cli.worker.progress import Progress, ProgressServer
from ingot.cli.worker.report import Tell, reporting

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """`progress` is called with what is done and what there is in all; `tell` with how it ended well."""

    progress: Progress
    tell: Tell


@dataclass(frozen=True, slots=True)
class Outlet:
    """Where a worker says how it goes, and what became of it."""

    report: Path | None
    listen: tuple[str, int] | None

    @contextmanager
    def work(self, names: Mapping[Path, str]) -> Iterator[Work]:
        """The work is the block: its faults are reported, and end the process. `names` are what paths of this process
        are called."""
        progress = Progress()
        with reporting(self.report, names) as tell, self._answering(progress):
            yield Work(progress, tell)

    def _answering(self, progress: Progress) -> AbstractContextManager[object]:
        """Progress that can be asked for. Who has taken the address keeps nobody from working."""
        if self.listen is None:
            return nullcontext()
        try:
            return ProgressServer(progress, *self.listen)
        except OSError as error:
            log.warning("progress cannot be asked for: %s; the work goes on without that", error.strerror)
            return nullcontext()


def journals(state: Path | None) -> Path | None:
    """The directory for journals of devices, in that for the worker's state: the latter is the node's, and nobody but
    the worker may write to the former."""
    return state and state / "journals"


def is_file(path: Path) -> bool:
    """Whether it is a disk among the files of a volume's user, who may have put anything in its place; what is called
    otherwise was given to us by the node."""
    return path.name == DISK_NAME


def called(target: Path, state: Path | None) -> dict[Path, str]:
    """What the places of a worker are to others. Parts and journals are beside the target, under names like its own."""
    hidden = {target.with_name(f".{target.name}.ingot-{what}"): "the volume" for what in ("part", "journal", "spool")}
    return {target: "the volume", **hidden, **({state: "the worker's state"} if state else {})}


def outlet_options(command: Callable[..., None]) -> Callable[..., None]:
    """--report and --listen, given to the command as `outlet`."""

    @click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Where to leave the last words.")
    @wraps(command)
    def with_outlet(*, report: Path | None, listen: tuple[str, int] | None, **others: Any) -> None:
        command(outlet=Outlet(report, listen), **others)

    listening: Callable[..., None] = listen_option(None)(with_outlet)
    return listening
