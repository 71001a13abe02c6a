"""`ingot worker import`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.worker.origin import Origin, origin_options
from ingot.cli.worker.work import Outlet, Work, called, is_file, journals, outlet_options

if TYPE_CHECKING:
    from ingot.images.pipeline.options import ImportOptions
    from ingot.images.pipeline.source import Source


@click.command("import", epilog="Example: ingot worker import --source-kind blank --size 1048576 --target disk.img")
@origin_options
@click.option("--target", type=click.Path(path_type=Path), required=True, metavar="FILE|DEVICE")
@click.option("--size", type=int, default=0, metavar="BYTES", help="What the disk is grown to; 0 for as it is.")
@click.option("--limit", type=int, default=0, metavar="BYTES", help="The largest disk that is taken; 0 for any.")
@click.option("--content-type", type=click.Choice(("kubevirt", "archive")), default="kubevirt", show_default=True)
@click.option("--preallocate", is_flag=True, help="Leave no holes in the disk.")
@click.option(
    "--previous",
    type=click.Path(path_type=Path),
    metavar="FILE|DEVICE",
    help="The disk of an earlier version: what it has is not fetched from a registry.",
)
@click.option("--state", type=click.Path(file_okay=False, path_type=Path), help="Where journals of devices are kept.")
@outlet_options
def import_(
    origin: Origin,
    target: Path,
    size: int,
    limit: int,
    content_type: str,
    preallocate: bool,
    previous: Path | None,
    state: Path | None,
    outlet: Outlet,
) -> None:
    """Fill a volume from anywhere: the disk of an image as a raw file or on a device, or the files of an archive.

    A worker that is started again goes on where the last one was.
    """
    with outlet.work(called(target, state)) as work:
        source = origin.source(size)
        wishes = {"size": size, "limit": limit, "preallocate": preallocate, "state": journals(state), "scratch": state}
        if previous is not None:
            wishes |= {"previous": previous, "previous_device": not is_file(previous)}
        options = origin.options(source, replace=True, padded=True, only_file=is_file(target), **wishes)
        if content_type == "archive":
            _unpack(source, target, options, work)
        else:
            _import(source, target, options, work)


def _import(source: "Source", target: Path, options: "ImportOptions", work: Work) -> None:
    from ingot.images.pipeline.changing import despite_changes
    from ingot.images.pipeline.importer import import_image

    imported = despite_changes(source, options, lambda each: import_image(source, target, each, work.progress))
    done = imported.resumed_from + imported.fetched + imported.local
    told: dict[str, object] = {"virtualSize": imported.size, "done": done, "identity": imported.identity}
    if imported.local:
        told |= {"fetched": imported.fetched, "reused": imported.local}
    work.tell(told)


def _unpack(source: "Source", target: Path, options: "ImportOptions", work: Work) -> None:
    """The volume has the files, and no disk: `target` is where that would have been."""
    from ingot.images.archive.unpacker import unpack
    from ingot.images.fault import ImageFault
    from ingot.images.pipeline.changing import despite_changes

    if not is_file(target):
        message = "files need a volume with a filesystem: use volumeMode Filesystem, or leave contentType archive out"
        raise ImageFault(str(target), "BadTarget", message)
    unpacked = despite_changes(source, options, lambda each: unpack(source, target.parent, each, work.progress))
    work.tell({"virtualSize": unpacked.size, "done": unpacked.fetched, "identity": unpacked.identity})
