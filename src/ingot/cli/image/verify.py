"""`ingot image verify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.image.registry_options import Access, platform_option, registry_options
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.images.reference import Reference
    from ingot.images.registry.client import Image, Registry
    from ingot.images.registry.manifest import Platform


@click.command(epilog="Example: ingot image verify registry.example/vmdisks/debian:12")
@click.argument("reference", metavar="REF")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@platform_option
@registry_options
@output_option("text", "json")
def verify(reference: str, file: Path | None, platform: "Platform | None", access: Access, output: str) -> None:
    """Check that an image, or a disk of this machine, is what the image's digest says.

    Without FILE all of the image is read, and every blob and every chunk compared with its digest. With FILE, a raw or
    qcow2 disk, that is compared with the image's disk: by digests where it has chunks, else by reading all of it.
    """
    from ingot.images.reference import Reference

    with access.client() as registry:
        target = Reference.parse(reference)
        image = registry.resolve(target, platform)
        if file is None:
            document, text = _verify_image(registry, target, image)
        else:
            document, text = _verify_file(registry, target, image, file)
    if output == "json":
        show(document, output)
    else:
        click.echo(text)


def _verify_image(registry: "Registry", reference: "Reference", image: "Image") -> tuple[dict[str, Any], str]:
    from ingot.cli.image.progress import in_bytes, progress
    from ingot.images.verification import verify_image

    with progress(str(reference)) as tell:
        found = verify_image(registry, image, tell)
    document = {
        "reference": str(reference),
        "digest": str(image.digest),
        "layers": found.layers,
        "size": found.size,
        "chunks": found.chunks,
    }
    chunks = f", {found.chunks} chunks" if found.chunks else ""
    layers = "1 layer" if found.layers == 1 else f"{found.layers} layers"
    return document, f"{reference} is {image.digest}: {layers}, {in_bytes(found.size)}{chunks}, all as they should be"


def _verify_file(
    registry: "Registry", reference: "Reference", image: "Image", file: Path
) -> tuple[dict[str, Any], str]:
    from ingot.cli.image.progress import progress
    from ingot.images.comparison import first_difference
    from ingot.images.container_disk import open_container_disk
    from ingot.images.disk import open_disk

    local = open_disk(file)
    try:
        with progress(file.name) as tell:
            place = first_difference(local, open_container_disk(registry, image), tell)
    finally:
        local.close()
    if place is not None:
        raise click.ClickException(f"{file}: it differs from the disk of {reference} at byte {place}")
    return {"file": str(file), "reference": str(reference), "digest": str(image.digest)}, f"{file} is {reference}"
