"""`ingot image rm`."""

import click

from ingot.cli.image.registry_options import Access, registry_options
from ingot.cli.output import output_option, show


@click.command(epilog="Example: ingot image rm registry.example/vmdisks/debian:12")
@click.argument("references", nargs=-1, required=True, metavar="REF…")
@click.option("--all-tags", is_flag=True, help="Delete the image even where other tags, or their indexes, lose it.")
@registry_options
@output_option("text", "json")
def rm(references: tuple[str, ...], all_tags: bool, access: Access, output: str) -> None:
    """Remove images from their registries.

    REF with a tag removes the tag; with a digest, the image itself, with the boot traces that are attached to it. The
    registry frees the space when it collects its garbage. One that cannot be removed keeps no other from it.
    """
    from ingot.images.fault import ImageFault
    from ingot.images.reference import Reference
    from ingot.images.registry.removal import remove

    removed = []
    with access.client() as registry:
        wanted = [Reference.parse(text) for text in dict.fromkeys(references)]
        for reference in wanted:
            try:
                digest = remove(registry, reference, all_tags)
            except ImageFault as fault:
                click.echo(f"Error: {fault}", err=True)
                continue
            removed.append({"reference": str(reference), "digest": str(digest)})
            if output == "text":
                click.echo(f"{reference} removed")
    if output != "text":
        show(removed, output)
    if len(removed) < len(wanted):
        raise click.exceptions.Exit(1)
