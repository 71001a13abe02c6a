"""`ingot golden publish`: a file of this machine becomes an image that every namespace can boot, or insert (N5)."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.duration import Duration
from ingot.cli.golden.options import golden_options
from ingot.cli.output import output_option, show
from ingot.cli.volume.options import Target, target_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.golden.found import Golden


@click.command(epilog="Example: ingot golden publish debian-12-netinst.iso --name netinst")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", default="", help="What machines call it: golden:NAME; without it, after FILE.")
@click.option("--version", default="", metavar="TEXT", help="What people call this version; without it, as FILE.")
@click.option("--keep", type=click.IntRange(2), default=3, show_default=True, help="How many versions to keep.")
@target_options(size="Grow the disk to this size; without it, it is as large as the disk in FILE.")
@click.option("--private", is_flag=True, help="Do not let everybody clone from the namespace.")
@click.option("--proxy", default="", metavar="URL", help="Where the upload proxy is, if not where CDIConfig says.")
@click.option("--insecure", is_flag=True, help="Do not verify the certificate of the upload proxy.")
@golden_options
@click.option("--timeout", type=Duration(), metavar="TIME", help="How long to wait; without it, until it is done.")
@output_option("text", "json", "yaml")
def publish(
    file: Path,
    name: str,
    version: str,
    keep: int,
    target: Target,
    private: bool,
    proxy: str,
    insecure: bool,
    connection: Connection,
    timeout: float | None,
    output: str,
) -> None:
    """Send FILE, an ISO or a disk, and make it a golden image NAME.

    Machines of all namespaces boot from it (`ingot vm run golden:NAME`), or have it in a drive, which any number of
    them share (`ingot vm run … --cdrom golden:NAME`).

    To publish NAME again makes a new version: NAME moves to it when every byte is there. The same command goes on where
    an interrupted one was. Beyond those to keep, the oldest versions go, but for what NAME has just left, and what
    something uses, such as a machine, stopped or not, or a clone that is being made.
    """
    from ingot.cli.vm.blueprint import name_from

    chosen = name or name_from(file.name)

    async def work(session: "Session") -> int:
        from ingot.cli.golden.pruning import prune
        from ingot.cli.golden.publishing import Publishing
        from ingot.cli.golden.rights import prepare

        await prepare(session, private)
        publishing = Publishing(session, chosen, proxy, insecure)
        before = await publishing.check()
        golden = await publishing.publish(file, version, target, timeout)
        await prune(session, golden, keep, before.current if before else None)
        if output == "text":
            click.echo(_told(golden))
        else:
            show(golden.link, output)
        return 0

    run(connection, work)


def _told(golden: "Golden") -> str:
    from ingot.cli.golden.options import place_of

    version = golden.current.title if golden.current else ""
    place = place_of(golden.namespace, golden.name)
    return (
        f"{golden.name} is ready: {version}; boot it with `ingot vm run {place}`, or put it into a drive with "
        f"`ingot vm run DISK --cdrom {place}`"
    )
