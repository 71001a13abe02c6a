"""`ingot volume upload`: from a file of this machine to a volume."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option
from ingot.cli.volume.options import Target, target_options, wait_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume upload debian-12.qcow2 debian --size 10Gi")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("name")
@target_options(size="Grow the disk to this size; without it, the volume is as large as the disk in FILE.")
@click.option("--proxy", default="", metavar="URL", help="Where the upload proxy is, if not where CDIConfig says.")
@click.option("--insecure", is_flag=True, help="Do not verify the certificate of the upload proxy.")
@connection_options()
@wait_options
@output_option("text", "json", "yaml")
def upload(
    file: Path,
    name: str,
    target: Target,
    proxy: str,
    insecure: bool,
    connection: Connection,
    wait: bool,
    timeout: float | None,
    output: str,
) -> None:
    """Make a volume NAME with the disk in FILE.

    FILE may be compressed; the disk may be raw, qcow2, vmdk, vdi, vhdx or vhd, and becomes raw. The same command goes
    on where an interrupted one was, or begins anew if FILE was changed since. Whoever has no `ingot` sends the file
    with curl: docs/volumes.md tells how.
    """
    from ingot.cli.volume.parcel import Parcel

    parcel = Parcel.of(file)
    wanted = sized(target, file)

    async def work(session: "Session") -> int:
        from ingot.cli.volume.making import finish
        from ingot.cli.volume.sending import Sending

        sending = Sending(session, name, proxy, insecure)
        await sending.prepare(wanted, timeout)
        await sending.send(parcel)
        return await finish(session, name, timeout, output) if wait else 0

    run(connection, work)


def sized(target: Target, file: Path) -> Target:
    """The target, as large as the disk in a file where nothing was said. Raises UsageError where only unpacking would
    tell that, and ClickException for an empty file, and for a disk that does not fit into what was said."""
    from dataclasses import replace

    from ingot.api.quantity import QuantityError, whole
    from ingot.images.blocks import whole_blocks

    if not file.stat().st_size:
        raise click.ClickException(f"{file} has no bytes, and so no disk")
    size = _size_of(file)
    needed = size if target.mode == "Block" else whole_blocks(size)
    if not target.size:
        if not size:
            raise click.UsageError(f"only unpacking {file} would tell how large its disk is; give --size")
        return replace(target, size=str(needed))
    try:
        asked = whole(target.size)
    except QuantityError:
        # The server says what is wrong with it, as for all volumes.
        return target
    if asked < needed:
        said = f"the disk in {file} needs {needed} bytes, and --size {target.size} is {asked}"
        raise click.ClickException(f"{said}: give more, or leave --size out")
    return target


def _size_of(file: Path) -> int:
    """The bytes of the disk in a file; 0 where only unpacking would tell. Raises ClickException for what is no disk."""
    from ingot.images.content import FileContent
    from ingot.images.disk import FORMATS, format_of, open_disk
    from ingot.images.fault import ImageFault
    from ingot.images.sniff import NO_DISKS

    try:
        content = FileContent(file)
        try:
            found = format_of(content)
        finally:
            content.close()
        if found not in (*FORMATS, *NO_DISKS):
            return 0
        disk = open_disk(file)
        try:
            return disk.size
        finally:
            disk.close()
    except ImageFault as fault:
        raise click.ClickException(str(fault)) from fault
