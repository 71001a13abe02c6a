"""`ingot volume import`: from an address to a volume with its disk."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option
from ingot.cli.volume.options import Target, target_options, wait_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command("import", epilog="Example: ingot volume import https://example.org/debian-12.qcow2 debian --size 10Gi")
@click.argument("source")
@click.argument("name")
@target_options(size="Grow the disk to this size; without it, the volume is as large as the disk.")
@click.option("--checksum", default="", metavar="DIGEST", help="What http(s)://… must have: sha256:HEX, sha512:HEX ….")
@click.option("--secret", default="", metavar="NAME", help="The Secret with the credentials for SOURCE.")
@click.option("--certificates", default="", metavar="NAME", help="The ConfigMap with authorities to trust.")
@click.option(
    "--delta-from",
    default="",
    metavar="CLAIM",
    help="A claim with an earlier version: of docker://… only what it does not have is fetched.",
)
@connection_options()
@wait_options
@output_option("text", "json", "yaml")
def import_(
    source: str,
    name: str,
    target: Target,
    checksum: str,
    secret: str,
    certificates: str,
    delta_from: str,
    connection: Connection,
    wait: bool,
    timeout: float | None,
    output: str,
) -> None:
    """Make a volume NAME with the disk of SOURCE in it, and show how far it is.

    SOURCE is docker://HOST/REPOSITORY:TAG, http(s)://…, nbd://… or s3://BUCKET/KEY. It may be compressed; the disk may
    be raw, qcow2, vmdk, vdi, vhdx or vhd, and becomes raw.

    The work is done where the storage is, and goes on when this command is interrupted: `ingot volume watch` finds it
    again. The exit code is 1 when it has failed for good.
    """
    from ingot.cli.volume.place import read_source

    found = read_source(source, secret, certificates, checksum)

    async def work(session: "Session") -> int:
        from ingot.api.cdi.names import DELTA_FROM
        from ingot.cli.volume.making import make
        from ingot.cli.volume.plan import manifest

        wanted = manifest(name, session.namespace, found, target)
        if delta_from:
            wanted["metadata"]["annotations"][DELTA_FROM] = delta_from
        return await make(session, wanted, wait, timeout, output)

    run(connection, work)
