"""`ingot worker inspect`."""

from pathlib import Path

import click

from ingot.cli.worker.origin import Origin, origin_options
from ingot.cli.worker.work import Outlet, outlet_options


@click.command(epilog="Example: ingot worker inspect --source-kind http --url https://example.com/disk.qcow2")
@origin_options
@click.option("--limit", type=int, default=0, metavar="BYTES", help="The largest disk that is taken; 0 for any.")
@click.option("--state", type=click.Path(file_okay=False, path_type=Path), help="For what has to be put aside.")
@outlet_options
def inspect(origin: Origin, limit: int, state: Path | None, outlet: Outlet) -> None:
    """Tell how large the disk of a source is, so that a volume can be made for it."""
    with outlet.work({state: "the worker's state"} if state else {}) as work:
        from ingot.host.scratch import ScratchDirectory
        from ingot.images.pipeline.measure import measure

        source = origin.source(0)
        options = origin.options(source, limit=limit)
        with ScratchDirectory("ingot-inspect-") as scratch:
            found = measure(source, options, state or scratch.path, work.progress)
        work.tell({"virtualSize": found.size, "format": found.format, "identity": found.identity})
