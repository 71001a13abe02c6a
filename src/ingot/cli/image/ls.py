"""`ingot image ls`."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.image.registry_options import Access, registry_options
from ingot.cli.output import output_option, printable, show

if TYPE_CHECKING:
    from ingot.images.reference import Reference
    from ingot.images.registry.client import Registry
    from ingot.images.registry.manifest import Descriptor, Manifest

_THREADS = 8
# Images of one index that are asked for their size: a list of tags should not take long.
_MOST_IMAGES = 16
# A tag that lists what is attached to an image, in registries without an API for that.
_ATTACHED = "sha(256|512)-[0-9a-f]{64,128}([.].*)?"


@click.command(epilog="Example: ingot image ls registry.example/vmdisks/debian")
@click.argument("place", metavar="HOST|REPOSITORY")
@click.option("--all", "every", is_flag=True, help="Also tags sha256-… for what is attached to images, as traces are.")
@registry_options
@output_option("text", "json")
def ls(place: str, every: bool, access: Access, output: str) -> None:
    """List the repositories of a registry, or the tags of a repository with their digest, size and platforms.

    The size of an image for several platforms is that of the largest.
    """
    with access.client() as registry:
        rows = _repositories(registry, place) if _is_host(place) else _tags(registry, place, every)
    if output == "json":
        show(rows, output)
    elif not rows:
        click.echo(f"Nothing in {place}.", err=True)
    else:
        _print(rows)


def _is_host(place: str) -> bool:
    """A name without a path is a registry where it cannot be a repository."""
    name = place.removeprefix("docker://")
    return "/" not in name.rstrip("/") and ("." in name or ":" in name or name == "localhost")


def _repositories(registry: "Registry", place: str) -> list[dict[str, Any]]:
    host = place.removeprefix("docker://").rstrip("/")
    return [{"repository": f"{host}/{name}"} for name in sorted(registry.repositories(host))]


def _tags(registry: "Registry", place: str, every: bool) -> list[dict[str, Any]]:
    import re
    from functools import partial

    from ingot.images.reference import Reference

    repository = Reference.repository_of(place)
    with ThreadPoolExecutor(_THREADS) as threads:
        tags = sorted(tag for tag in registry.tags(repository) if every or not re.fullmatch(_ATTACHED, tag))
        return list(threads.map(partial(_row, registry), map(repository.tagged, tags)))


def _row(registry: "Registry", reference: "Reference") -> dict[str, Any]:
    """`size` is what a pull moves at most: of an index, that of its largest image. None where it is not known."""
    from ingot.images.fault import ImageFault
    from ingot.images.registry.manifest import Manifest

    row: dict[str, Any] = {"tag": reference.tag, "digest": "", "size": None, "platforms": [], "fault": ""}
    try:
        document = registry.manifest(reference)
    except ImageFault as fault:
        # One tag that cannot be used, or was removed meanwhile, must not hide the others.
        return row | {"fault": fault.message}
    row["digest"] = str(document.digest)
    if isinstance(document.parsed, Manifest):
        return row | {"size": _size(document.parsed), "platforms": _platforms(registry, reference, document.parsed)}
    images = [each for each in document.parsed.manifests if not str(each.platform).startswith("unknown")]
    platforms = [printable(str(each.platform)) for each in images if each.platform]
    return row | {"size": _largest(registry, reference, images), "platforms": platforms}


def _size(manifest: "Manifest") -> int:
    return sum(layer.size for layer in manifest.layers)


def _platforms(registry: "Registry", reference: "Reference", manifest: "Manifest") -> list[str]:
    """What an image without an index is for, where its configuration says that."""
    from ingot.images.fault import ImageFault
    from ingot.images.registry.config import MOST_BYTES, decode_config
    from ingot.images.registry.manifest import Platform

    try:
        config = decode_config(registry.read(reference, manifest.config, MOST_BYTES), str(reference))
    except ImageFault:
        return []
    platform = Platform(os=config.os, architecture=config.architecture, variant=config.variant)
    return [printable(str(platform))] if config.os and config.architecture else []


def _largest(registry: "Registry", reference: "Reference", images: "list[Descriptor]") -> int | None:
    from ingot.images.fault import ImageFault
    from ingot.images.registry.manifest import Manifest

    if len(images) > _MOST_IMAGES:
        return None
    sizes = []
    for image in images:
        try:
            manifest = registry.manifest(reference.at(image.digest)).parsed
        except ImageFault:
            return None
        if isinstance(manifest, Manifest):
            sizes.append(_size(manifest))
    return max(sizes, default=None)


def _print(rows: list[dict[str, Any]]) -> None:
    from ingot.cli.image.progress import in_bytes
    from ingot.cli.table import lines, terminal_width

    if "repository" in rows[0]:
        click.echo("\n".join(row["repository"] for row in rows))
        return
    cells = [
        [
            row["tag"],
            "" if row["size"] is None else in_bytes(row["size"]),
            ",".join(row["platforms"]),
            row["digest"] or row["fault"],
        ]
        for row in rows
    ]
    click.echo("\n".join(lines(["TAG", "SIZE", "PLATFORMS", "DIGEST"], cells, terminal_width())))
