"""`ingot worker copy`."""

import os
from pathlib import Path

import click

from ingot.cli.worker.work import Outlet, Work, called, is_file, journals, outlet_options


@click.command(epilog="Example: ingot worker copy --from /source/disk.img --to /data/disk.img")
@click.option("--from", "origin", type=click.Path(path_type=Path), required=True, metavar="FILE|DEVICE")
@click.option("--to", "target", type=click.Path(path_type=Path), required=True, metavar="FILE|DEVICE")
@click.option("--size", type=int, default=0, metavar="BYTES", help="The least that the disk is grown to; 0 for none.")
@click.option("--content-type", type=click.Choice(("kubevirt", "archive")), default="kubevirt", show_default=True)
@click.option("--preallocate", is_flag=True, help="Leave no holes in the copy.")
@click.option("--state", type=click.Path(file_okay=False, path_type=Path), help="Where journals of devices are kept.")
@outlet_options
def copy(
    origin: Path,
    target: Path,
    size: int,
    content_type: str,
    preallocate: bool,
    state: Path | None,
    outlet: Outlet,
) -> None:
    """Copy the disk of a volume to another volume: byte by byte as it is, and holes as holes. Or all files, of an
    archive: of those that the disk would be among, to those that the copy would be among.

    A worker that is started again goes on where the last one was, unless the disk is a device or has changed, or files
    are copied.
    """
    with outlet.work({origin: "the source", **called(target, state)}) as work:
        if content_type == "archive":
            _copy_files(origin, target, work)
        else:
            _copy_disk(origin, target, size, preallocate, state, work)


def _copy_disk(origin: Path, target: Path, size: int, preallocate: bool, state: Path | None, work: Work) -> None:
    from ingot.images.pipeline.importer import import_image
    from ingot.images.pipeline.options import ImportOptions
    from ingot.images.pipeline.source import Kind, Source
    from ingot.images.registry.settings import Settings

    options = ImportOptions(
        size=_grown(origin, target, size),
        preallocate=preallocate,
        padded=True,
        state=journals(state),
        replace=True,
        settings=Settings(),
        only_file=is_file(target),
    )
    kind = Kind.DISK if is_file(origin) or not origin.is_block_device() else Kind.DEVICE
    copied = import_image(Source(kind, str(origin)), target, options, work.progress)
    done = copied.resumed_from + copied.fetched
    work.tell({"virtualSize": copied.size, "done": done, "identity": copied.identity})


def _grown(origin: Path, target: Path, size: int) -> int:
    """What the copy is grown to: `size`, or what its origin has, where that is more and has room. Storage may have
    given the origin more than was asked for, as it did to the target."""
    from ingot.images.blocks import whole_blocks

    return max(size, min(whole_blocks(_held(origin)), _room(target))) if size else 0


def _held(origin: Path) -> int:
    """The bytes of the disk; 0 for what is none."""
    from ingot.disks.expansion import device_size

    if not is_file(origin):
        return device_size(origin) if origin.is_block_device() else 0
    try:
        return origin.lstat().st_size
    except FileNotFoundError:
        return 0


def _room(target: Path) -> int:
    from ingot.disks.expansion import device_size

    if not is_file(target) and target.is_block_device():
        return device_size(target)
    found = os.statvfs(target.parent)
    return found.f_blocks * found.f_frsize


def _copy_files(origin: Path, target: Path, work: Work) -> None:
    from ingot.images.archive.copier import copy_files

    work.tell({"done": copy_files(origin.parent, target.parent, work.progress)})
