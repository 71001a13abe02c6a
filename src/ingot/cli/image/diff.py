"""`ingot image diff`."""

from typing import TYPE_CHECKING

import click

from ingot.cli.image.registry_options import Access, platform_option, registry_options
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.images.diff import Difference
    from ingot.images.registry.manifest import Platform


@click.command(
    epilog="Example: ingot image diff registry.example/vmdisks/debian:12.1 registry.example/vmdisks/debian:12.2"
)
@click.argument("old")
@click.argument("new")
@platform_option
@registry_options
@output_option("text", "json")
def diff(old: str, new: str, platform: "Platform | None", access: Access, output: str) -> None:
    """Show what an update costs: the bytes that move when the image OLD is here and NEW is wanted."""
    from ingot.images.diff import compare
    from ingot.images.reference import Reference

    with access.client() as registry:
        images = [registry.resolve(Reference.parse(text), platform) for text in (old, new)]
        found = compare(registry, *images)
    if output == "json":
        show(_document(found), output)
    else:
        click.echo(_text(found))


def _document(found: "Difference") -> dict[str, int | None]:
    return {
        "chunks": found.chunks,
        "changed": found.changed,
        "size": found.size,
        "compressed": found.compressed,
        "table": found.table,
        "metadata": found.metadata,
        "moved": found.moved,
    }


def _text(found: "Difference") -> str:
    from ingot.cli.image.progress import in_bytes

    if found.moved == 0:
        return "The same image: nothing moves."
    if found.changed is None:
        return f"{in_bytes(found.moved)} move: all of the layer, because one of the two has no chunks."
    chunks = (
        f"{found.changed} of {found.chunks} chunks ({in_bytes(found.size)}, {in_bytes(found.compressed)} compressed)"
    )
    rest = f"{in_bytes(found.table)} of table, {in_bytes(found.metadata)} of metadata"
    return f"{in_bytes(found.moved)} move: {chunks}, {rest}."
