"""`ingot image push`."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ingot.cli.image.registry_options import Access, PlatformType, registry_options
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.images.push import Pushed
    from ingot.images.reference import Reference
    from ingot.images.registry.manifest import Platform

Progress = Callable[[int, int], None]
# How long SIGTERM waits for the piece of an upload that is on its way.
_SECONDS = 10.0


@click.command(epilog="Example: ingot image push debian-12.qcow2 registry.example/vmdisks/debian:12 --label os=debian")
@click.argument("disk", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("reference", metavar="REF")
@click.option(
    "--platform",
    type=PlatformType(),
    metavar="OS/ARCH",
    help="What the disk is for, such as linux/arm64; without it, this machine's.",
)
@click.option("--index", is_flag=True, help="Keep the tag's images for other platforms, with this one in an index.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label; may be repeated.")
@click.option("--level", type=click.IntRange(1, 19), help="How hard zstd tries, from 1 to 19; 6 without it.")
@click.option(
    "--mount-from",
    multiple=True,
    metavar="REPOSITORY",
    help="Take the layer from it, in the same registry, if it is there; may be repeated.",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where pushed layers are noted, to be found again; without it, $INGOT_CACHE or ~/.cache/ingot.",
)
@registry_options
@output_option("text", "json")
def push(
    disk: Path,
    reference: str,
    platform: "Platform | None",
    index: bool,
    labels: tuple[str, ...],
    level: int | None,
    mount_from: tuple[str, ...],
    cache: Path | None,
    access: Access,
    output: str,
) -> None:
    """Push a disk to a registry as an ordinary container disk.

    DISK is raw, qcow2, vmdk, vdi, vhdx or an ISO, which nobody writes to meanwhile. Zeros are left out. Its layer is in
    zstd:chunked form: every tool can unpack it, and Ingot reads it in any order, checks each chunk, and fetches only
    what has changed.

    A layer that this machine has pushed to the registry before, or that another tag of the repository has, is not sent
    again.
    """
    from ingot.cli.image.progress import progress
    from ingot.images.cache import default_directory
    from ingot.images.disk import open_disk
    from ingot.images.push import PushOptions, check_push, lay_out, push_file
    from ingot.images.reference import Reference
    from ingot.images.still_file import StillFile

    with access.client() as registry:
        others = [Reference.repository_of(name) for name in mount_from]
        options = PushOptions(platform, index, _parse(labels), level, others, cache or default_directory())
        target = Reference.parse(reference)
        check_push(target, options)
        file = StillFile(disk)
        content = open_disk(disk)
        try:
            with progress(f"{disk.name}, looking for zeros") as tell:
                image = lay_out(content, str(disk), tell)
            with progress(disk.name) as tell, _terminable(tell) as tell_or_end:
                pushed = push_file(registry, image, target, options, tell_or_end, file.check)
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; the same command begins anew") from None
        finally:
            content.close()
    if output == "json":
        show(_document(pushed, target), output)
    else:
        click.echo(_summary(pushed, target))


@contextmanager
def _terminable(tell: Progress) -> Iterator[Progress]:
    """`tell`, which ends the push after SIGTERM. It is called between two pieces of an upload, which registries can
    forget then; within a piece many cannot. Where that takes too long, or SIGTERM comes again, it ends all the same."""
    told = False

    def end(*_: object) -> NoReturn:
        sys.exit(128 + signal.SIGTERM)

    def note(*_: object) -> None:
        nonlocal told
        if told:
            end()
        told = True
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)

    def tell_or_end(done: int, whole: int) -> None:
        if told:
            end()
        tell(done, whole)

    before = signal.signal(signal.SIGTERM, note), signal.signal(signal.SIGALRM, end)
    try:
        yield tell_or_end
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGALRM, before[1])


def _parse(labels: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for label in labels:
        key, equals, value = label.partition("=")
        if not key or not equals:
            raise click.BadParameter(f'"{label}" must be KEY=VALUE', param_hint="--label")
        found[key] = value
    return found


def _summary(pushed: "Pushed", reference: "Reference") -> str:
    from ingot.cli.image.progress import in_bytes

    sent = f"{in_bytes(pushed.sent)} sent" if pushed.sent else "its layer was there already"
    disk = f"a disk of {in_bytes(pushed.size)} with {in_bytes(pushed.data)} of data"
    return f"{reference}: {disk}; {sent}\n{reference.name}@{pushed.digest}"


def _document(pushed: "Pushed", reference: "Reference") -> dict[str, object]:
    return {
        "reference": str(reference),
        "digest": str(pushed.digest),
        "manifest": str(pushed.manifest),
        "layer": {"digest": str(pushed.layer.digest), "size": pushed.layer.size},
        "size": pushed.size,
        "data": pushed.data,
        "sent": pushed.sent,
    }
