"""`ingot image trace`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.image.registry_options import Access, platform_option, registry_options
from ingot.cli.image.size import Size
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.images.cache import Cache
    from ingot.images.lazy.trace import Trace
    from ingot.images.reference import Reference
    from ingot.images.registry.client import Registry
    from ingot.images.registry.manifest import Platform
    from ingot.serve.recording import Boot

# No system starts with less: a kernel alone is larger.
_LEAST_CHUNKS = 64


@click.command(epilog='Example: ingot image trace registry.example/vmdisks/debian:12 --until "login:"')
@click.argument("reference", metavar="REF")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option("--seconds", type=click.FloatRange(1), default=120.0, show_default=True, help="How long, at most.")
@click.option("--until", default="", metavar="TEXT", help="It has started when it prints TEXT on its serial console.")
@click.option("--memory", type=click.IntRange(64), default=1024, show_default=True, metavar="MIB", help="Of the guest.")
@click.option("--show", "only_show", is_flag=True, help="Show the trace that is attached, and boot nothing.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where fetched chunks are kept; without it, $INGOT_CACHE or ~/.cache/ingot.",
)
@click.option(
    "--cache-size",
    type=Size(),
    metavar="SIZE",
    help="How many of their bytes at most; without it, as many as DIR was given last, 10Gi at first.",
)
@platform_option
@registry_options
@output_option("text", "json")
def trace(
    reference: str,
    command: tuple[str, ...],
    seconds: float,
    until: str,
    memory: int,
    only_show: bool,
    cache: Path | None,
    cache_size: int | None,
    platform: "Platform | None",
    access: Access,
    output: str,
) -> None:
    """Record what a guest reads while it starts, and attach that to the image.

    Lazy exports of the image then fetch in that order, ahead of their guests. The image itself is not changed.

    The guest is a QEMU of x86_64 with the image as its disk; or COMMAND, in which {nbd} stands for the URI of the disk.
    It is ended when it prints TEXT, or when the time is over. Without --until nobody knows whether it had started by
    then: where it has read next to nothing, nothing is attached.
    """
    from ingot.images.cache import Cache, default_directory
    from ingot.images.lazy.trace import find
    from ingot.images.reference import Reference
    from ingot.serve.recording import Boot

    with access.client() as registry:
        wanted = Reference.parse(reference)
        if only_show:
            found = find(registry, registry.resolve(wanted, platform))
            if found is None:
                raise click.ClickException(f"{reference}: it has no trace: record one with `ingot image trace`")
            _show(found, output)
            return
        boot = Boot(command, seconds, until, memory)
        kept = Cache(cache or default_directory(), cache_size)
        _show(_record(registry, wanted, platform, kept, boot), output)


def _record(
    registry: "Registry", reference: "Reference", platform: "Platform | None", cache: "Cache", boot: "Boot"
) -> "Trace":
    from ingot.images.container_disk import open_container_disk
    from ingot.images.fault import ImageFault
    from ingot.images.lazy.open import LazyOptions, open_lazy
    from ingot.images.lazy.trace import Trace, attach
    from ingot.serve.recording import watch

    # A mirror may be behind: the trace is for what the registry itself has.
    pinned = reference.at(registry.origin.digest(reference))
    pieces = open_container_disk(registry, registry.resolve(pinned, platform)).pieces
    if pieces is None:
        # To open it lazily would read all of it first.
        message = "its layer has no chunks that could be fetched ahead: push it with `ingot image push`"
        raise ImageFault(str(reference), "NoChunks", message)
    disk = open_lazy(registry, pinned, cache, LazyOptions(follow=False), platform=platform)
    try:
        end = watch(disk, boot)
        if boot.marker and end != "marker":
            message = f"the guest did not print {boot.marker!r} in {boot.seconds:g} s; nothing is attached"
            raise ImageFault(str(reference), "NotStarted", message)
        recorded = Trace.of(disk.disk.layer.digest, disk.chunks.order)
        # A command that has ended well knows what it did; a guest that was ended, or has ended by itself, may not have
        # found anything to start.
        if end == "time" or (end == "ended" and not boot.command):
            _check(str(reference), recorded, len(pieces))
        attach(registry, disk.disk.image, recorded)
        return recorded
    finally:
        disk.close()


def _check(subject: str, trace: "Trace", all_chunks: int) -> None:
    from ingot.images.fault import ImageFault

    if trace.chunks < min(_LEAST_CHUNKS, all_chunks // 2):
        message = f"the guest read {trace.chunks} chunks only, so it has not started; nothing is attached"
        raise ImageFault(subject, "NotStarted", message)


def _show(trace: "Trace", output: str) -> None:
    if output == "json":
        show({"layer": trace.layer, "chunks": trace.chunks, "runs": trace.runs}, output)
    else:
        click.echo(f"{trace.chunks} chunks of {trace.layer}, in {len(trace.runs)} runs")
