"""`ingot worker inspect`."""

import click

from ingot.cli.worker.origin import Origin, origin_options
from ingot.cli.worker.work import Outlet, outlet_options


@click.command(epilog="Example: ingot worker inspect --source-kind http --url https://example.com/disk.qcow2")
@origin_options
@click.option("--limit", type=int, default=0, metavar="BYTES", help="The largest disk that is taken; 0 for any.")
@outlet_options
def inspect(origin: Origin, limit: int, outlet: Outlet) -> None:
    """Tell how large the disk of a source is, so that a volume can be made for it."""
    with outlet.work({}) as work:
        from ingot.images.pipeline.changing import despite_changes
        from ingot.images.pipeline.measure import measure

        source = origin.source(0)
        options = origin.options(source, limit=limit)
        found = despite_changes(source, options, lambda each: measure(source, each, work.progress))
        work.tell({"virtualSize": found.size, "format": found.format, "identity": found.identity})
