"""`ingot image inspect`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.image.registry_options import Access, platform_option, registry_options
from ingot.cli.output import output_option, printable, show

if TYPE_CHECKING:
    from ingot.images.inspection import ChunkFigures, DiskFigures, Here, Inspection
    from ingot.images.registry.manifest import Platform


_STREAMED = "from the front, and lazily once this machine has an index"


@click.command(epilog="Example: ingot image inspect registry.example/vmdisks/debian:12")
@click.argument("reference", metavar="REF")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="The chunk cache of this machine; without it, $INGOT_CACHE or ~/.cache/ingot.",
)
@platform_option
@registry_options
@output_option("text", "json")
def inspect(reference: str, cache: Path | None, platform: "Platform | None", access: Access, output: str) -> None:
    """Show what an image is: platforms, labels, layers, the disk in it, and what of it is on this machine.

    Only tables are read; of an image without chunks, the beginning of its layer.
    """
    from ingot.images.cache import default_directory
    from ingot.images.inspection import inspect_image
    from ingot.images.reference import Reference

    directory = cache or default_directory()
    with access.client() as registry:
        image = registry.resolve(Reference.parse(reference), platform)
        with _present(directory) as here:
            found = inspect_image(registry, image, here)
    if output == "json":
        show(_document(found), output)
    else:
        click.echo("\n".join(_lines(found)))


@contextmanager
def _present(directory: Path) -> "Iterator[Here]":
    """What this machine has: chunks in its cache, or in a disk that was made from an image, and indexes."""
    from ingot.images.cache import Cache
    from ingot.images.inspection import Here
    from ingot.images.seeds import Seeds

    if not directory.is_dir():
        yield Here(lambda digest: False, lambda digest: False)
        return
    cache = Cache(directory)
    with Seeds(directory / "seeds") as seeds:
        yield Here(lambda digest: cache.has(digest) or seeds.has(digest), cache.indexes.has)


def _document(found: "Inspection") -> dict[str, Any]:
    disk = found.disk
    return {
        "reference": str(found.image.reference),
        "digest": str(found.image.digest),
        "index": str(found.image.index.digest) if found.image.index else None,
        "platforms": found.platforms,
        "labels": found.labels,
        "layers": [
            {"digest": str(each.digest), "mediaType": each.media_type, "size": each.size} for each in found.layers
        ],
        "disk": {
            "name": disk.name,
            "format": disk.format,
            "read": disk.how,
            "fileSize": disk.file_size,
            "size": disk.size,
            "data": disk.data,
            "chunks": _figures(disk.chunks),
            "boot": _figures(disk.boot),
        },
    }


def _figures(chunks: "ChunkFigures | None") -> dict[str, int] | None:
    if chunks is None:
        return None
    return {
        "count": chunks.count,
        "distinct": chunks.distinct,
        "compressed": chunks.compressed,
        "here": chunks.here,
        "hereCompressed": chunks.here_bytes,
    }


def _lines(found: "Inspection") -> list[str]:
    from ingot.cli.image.progress import in_bytes

    rows = [("Image", str(found.image.reference))]
    if found.image.index is not None:
        rows.append(("Index", f"{found.image.index.digest}, of which this is {found.image.platform}"))
    rows.append(("Platforms", ", ".join(found.platforms)))
    rows += [("Label", f"{key}={value}") for key, value in found.labels.items()]
    rows += [("Layer", f"{each.digest}, {in_bytes(each.size)}, {each.media_type}") for each in found.layers]
    rows += _disk_rows(found.disk)
    return [f"{name + ':':11}{printable(text)}" for name, text in rows]


def _disk_rows(disk: "DiskFigures") -> list[tuple[str, str]]:
    from ingot.cli.image.progress import in_bytes

    size = "a size that its layer does not show" if disk.size is None else in_bytes(disk.size)
    rows = [("Disk", f"{disk.name}, {disk.format} of {in_bytes(disk.file_size)}, with a disk of {size}")]
    if disk.size is not None and disk.data is not None:
        rows.append(("Data", f"{in_bytes(disk.data)}; {in_bytes(disk.size - disk.data)} are holes"))
    if disk.chunks is None:
        way = "lazily, by the index that this machine has" if disk.how == "indexed" else _STREAMED
        rows.append(("Chunks", f"none: its layer is read {way}"))
        return rows
    chunks = disk.chunks
    same = f", {chunks.count - chunks.distinct} of them repeated" if chunks.count > chunks.distinct else ""
    rows.append(("Chunks", f"{chunks.count}{same}; {in_bytes(chunks.compressed)} to move"))
    if disk.boot is not None:
        rows.append(("Boot", f"reads {in_bytes(disk.boot.compressed)} of these first, as the image says"))
    rows.append(("Here", f"{chunks.here} chunk{'' if chunks.here == 1 else 's'}, {in_bytes(chunks.here_bytes)}"))
    return rows
