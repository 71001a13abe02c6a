"""`ingot image verify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.image.registry_options import Access, PlatformType, registry_options
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.images.reference import Reference
    from ingot.images.registry.client import Image, Registry
    from ingot.images.registry.manifest import Platform
    from ingot.images.verification import Verified


@click.command(epilog="Example: ingot image verify registry.example/vmdisks/debian:12")
@click.argument("reference", metavar="REF")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option(
    "--platform",
    type=PlatformType(),
    metavar="OS/ARCH",
    help="The image for this, such as linux/arm64; without it all of an index, and of FILE's the one for this machine.",
)
@registry_options
@output_option("text", "json")
def verify(reference: str, file: Path | None, platform: "Platform | None", access: Access, output: str) -> None:
    """Check that an image, or a disk of this machine, is what the image's digest says.

    Without FILE all of the image is read, and every blob and every chunk compared with its digest; of an index, all of
    its images, unless --platform names one. With FILE, a raw or qcow2 disk, that is compared with the image's disk: by
    digests where Ingot pushed it, else by reading it.
    """
    from ingot.images.reference import Reference

    with access.client() as registry:
        target = Reference.parse(reference)
        if file is None:
            document, text = _verify_images(registry, target, platform)
        else:
            document, text = _verify_file(registry, target, registry.resolve(target, platform), file)
    if output == "json":
        show(document, output)
    else:
        click.echo(text)


def _verify_images(
    registry: "Registry", reference: "Reference", platform: "Platform | None"
) -> tuple[dict[str, Any], str]:
    from ingot.cli.image.progress import progress
    from ingot.images.verification import named, verify_image

    digest, images = named(registry, reference, platform)
    records, told = [], []
    for purpose, image in images:
        with progress(" ".join(part for part in (str(reference), purpose) if part)) as tell:
            found = verify_image(registry, image, tell)
        records.append({"platform": purpose, **_record(image, found)})
        told.append(_figures(found))
    sums = {key: sum(record[key] for record in records) for key in ("layers", "size", "chunks")}
    document = {"reference": str(reference), "digest": str(digest), **sums, "images": records}
    if digest == images[0][1].digest:
        return document, f"{reference} is {digest}: {told[0]}, all as they should be"
    lines = [f"  {purpose}: {image.digest}, {figures}" for (purpose, image), figures in zip(images, told, strict=True)]
    return document, "\n".join([f"{reference} is {digest}, with these images, all as they should be:", *lines])


def _record(image: "Image", found: "Verified") -> dict[str, Any]:
    return {"digest": str(image.digest), "layers": found.layers, "size": found.size, "chunks": found.chunks}


def _figures(found: "Verified") -> str:
    from ingot.cli.image.progress import in_bytes

    layers = "1 layer" if found.layers == 1 else f"{found.layers} layers"
    chunks = f", {found.chunks} chunks" if found.chunks else ""
    return f"{layers}, {in_bytes(found.size)}{chunks}"


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
