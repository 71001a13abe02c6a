"""`ingot image pull`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.image.registry_options import Access, platform_option, registry_options
from ingot.cli.image.size import Size
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.images.nbd.address import Tls
    from ingot.images.pipeline.options import Imported
    from ingot.images.pipeline.source import Source
    from ingot.images.pipeline.work import Interrupted
    from ingot.images.registry.manifest import Platform

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(epilog="Example: ingot image pull docker://registry.example/vmdisks/debian:12 debian.img")
@click.argument("source")
@click.argument("target", type=click.Path(path_type=Path), metavar="FILE|DEVICE")
@click.option("--format", "kind", type=click.Choice(("raw", "qcow2")), default="raw", show_default=True)
@click.option("--size", type=Size(), default=0, metavar="SIZE", help="Grow the disk to this size.")
@click.option("--checksum", default="", metavar="DIGEST", help="What SOURCE must have: sha256:HEX, sha512:HEX, …")
@click.option("--limit", type=Size(), default=0, metavar="SIZE", help="Refuse a disk that is larger.")
@click.option("--rate", type=Size(), default=0, metavar="SIZE", help="Read at most so many bytes per second.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="Chunks that are not fetched, and the list of disks with more; without it, $INGOT_CACHE or ~/.cache/ingot.",
)
@platform_option
@registry_options
@click.option("--certificate", type=_FILE, help="Certificate to show to a server of nbds://, as PEM.")
@click.option("--key", type=_FILE, help="Its private key, as PEM.")
@click.option("--force", is_flag=True, help="Replace FILE, or write a complete DEVICE anew.")
@output_option("text", "json")
def pull(
    source: str,
    target: Path,
    kind: str,
    size: int,
    checksum: str,
    limit: int,
    rate: int,
    cache: Path | None,
    platform: "Platform | None",
    access: Access,
    certificate: Path | None,
    key: Path | None,
    force: bool,
    output: str,
) -> None:
    """Make the disk of an image a sparse FILE, or write it to a block DEVICE.

    SOURCE is a reference in a registry, http(s)://…, nbd(s)://…, nbd(s)+unix://…, a file, or - for standard input. It
    may be compressed, a container disk or a tar with one disk; the disk may be raw, qcow2, vmdk, vdi, vhdx or vhd. What
    NBD exports is taken as a disk as it is, and never decompressed or decoded.

    SIZE is in bytes, or with K, M, G, T for powers of 1000 or Ki, Mi, Gi, Ti for those of 1024, as in Kubernetes.

    FILE appears whole or not at all. The same command goes on where an interrupted one was, unless SOURCE is NBD,
    standard input, or behind a web server that gives neither ETag nor date: nobody can tell these from other ones.
    Within a frame of zstd, xz or lz4 nobody can go on either, and many files are one frame: they begin anew. So do
    vmdk, vdi, vhdx and vhd that are not plain local files, and, from the web or out of an archive, all with a
    --checksum other than sha256.
    """
    from ingot.cli.image.progress import progress
    from ingot.images.cache import default_directory
    from ingot.images.fault import ImageFault
    from ingot.images.pipeline.changing import despite_changes
    from ingot.images.pipeline.importer import import_image
    from ingot.images.pipeline.options import ImportOptions
    from ingot.images.pipeline.source import Source
    from ingot.images.pipeline.work import Interrupted

    try:
        origin = Source.parse(source)
        options = ImportOptions(
            checksum,
            size,
            kind,
            limit,
            rate,
            force,
            _state(),
            settings=access.settings(),
            tls=_tls(origin, access, certificate, key),
            platform=platform,
            cache=cache or default_directory(),
        )
        with progress(target.name) as tell:
            imported = despite_changes(origin, options, lambda each: import_image(origin, target, each, tell))
    except ImageFault as fault:
        raise click.ClickException(str(fault)) from fault
    except Interrupted as end:
        raise click.ClickException(_interrupted(end)) from end
    if output == "json":
        show(_document(imported, target), output)
    else:
        click.echo(summary(imported, target))


def _tls(source: "Source", access: Access, certificate: Path | None, key: Path | None) -> "Tls | None":
    """What is said of TLS with NBD servers. Raises UsageError where there is none for what was said, and ImageFault."""
    from ingot.images.pipeline.source import Kind

    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key go together")
    if source.kind is Kind.NBD:
        # Loaded where it is needed: TLS of Python takes long to load, and a file has none.
        from ingot.images.nbd.address import Address, Tls

        if Address.parse(source.place).tls is not None:
            return Tls(access.ca, certificate, key)
    if certificate is not None:
        message = f"--certificate and --key are for an NBD server with TLS (nbds://…), and {source} is none"
        raise click.UsageError(message)
    return None


def _state() -> Path:
    """Where journals of block devices are kept."""
    import os

    given = os.environ.get("XDG_STATE_HOME", "")
    return (Path(given) if given else Path.home() / ".local/state") / "ingot/imports"


def _interrupted(end: "Interrupted") -> str:
    from ingot.cli.image.progress import in_bytes

    return f"interrupted; the same command {f'goes on from {in_bytes(end.moved)}' if end.moved else 'begins anew'}"


def summary(imported: "Imported", target: Path) -> str:
    """One line for people."""
    from ingot.cli.image.progress import in_bytes

    if imported.resumed_from and not imported.fetched and not imported.written:
        return f"{target}: a disk of {in_bytes(imported.size)}; it was complete already"
    parts = [f"{in_bytes(imported.fetched)} fetched", f"{in_bytes(imported.written)} written"]
    if imported.local:
        parts.insert(1, f"{in_bytes(imported.local)} from here")
    if imported.resumed_from:
        parts.append(f"gone on from {in_bytes(imported.resumed_from)}")
    if imported.anew:
        parts.append("begun anew, as an interrupted import had left nothing to go on from")
    if imported.spooled:
        parts.append(f"{in_bytes(imported.spooled)} spooled beside it on the way")
    return f"{target}: a disk of {in_bytes(imported.size)}; {', '.join(parts)}"


def _document(imported: "Imported", target: Path) -> dict[str, object]:
    return {
        "target": str(target),
        "size": imported.size,
        "written": imported.written,
        "fetched": imported.fetched,
        "local": imported.local,
        "spooled": imported.spooled,
        "resumedFrom": imported.resumed_from,
        "begunAnew": imported.anew,
        "identity": imported.identity,
    }
