"""`ingot serve`: images as disks over NBD."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.image.registry_options import Access, platform_option, registry_options
from ingot.cli.image.size import Size
from ingot.cli.main import LazyGroup
from ingot.cli.serve.named import address, file_mode, parse_named

if TYPE_CHECKING:
    from ingot.images.registry.manifest import Platform
    from ingot.serve.entry import Entry
    from ingot.serve.listening import Listener

COMMANDS = {
    "add": "ingot.cli.serve.add:add",
    "rm": "ingot.cli.serve.rm:rm",
    "ls": "ingot.cli.serve.ls:ls",
}

_EXAMPLES = """\b
Examples: ingot serve --export debian=debian.qcow2
          ingot serve --socket /run/disks.sock --directory /srv/images
          ingot serve --listen :10809 --tls /etc/pki/nbd --export fedora=docker://registry.example/fedora:43"""

_OPTIONS = [
    click.option(
        "--listen", "listens", multiple=True, callback=address, metavar="[ADDRESS]:PORT", help="Serve on TCP."
    ),
    click.option("--socket", "paths", multiple=True, type=click.Path(path_type=Path), help="Serve on a unix socket."),
    click.option(
        "--socket-mode", callback=file_mode, default="600", show_default=True, help="Rights of the unix socket, octal."
    ),
    click.option("--share-port", is_flag=True, help="Let other servers listen on the same port, too."),
    click.option(
        "--export", "exports", multiple=True, callback=parse_named, metavar="NAME=SOURCE", help="Serve SOURCE."
    ),
    click.option("--directory", type=click.Path(path_type=Path), help="Serve each image in it by its file name."),
    click.option("--writable", multiple=True, metavar="NAME", help="Let clients write to this export."),
    click.option("--plain", multiple=True, metavar="NAME", help="Serve the bytes of its file, not the disk in it."),
    click.option("--tls", type=click.Path(path_type=Path), metavar="DIR", help="server-cert.pem and server-key.pem."),
    click.option("--client-ca", type=click.Path(path_type=Path), metavar="FILE", help="Who must have signed clients."),
    click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="How many serve."),
    click.option("--connections", type=click.IntRange(1), default=1024, show_default=True, help="How many at most."),
    click.option("--metrics", callback=address, metavar="[ADDRESS]:PORT", help="Serve /metrics for Prometheus."),
    click.option("--control", type=click.Path(path_type=Path), help="Socket for `ingot serve add`, `rm` and `ls`."),
    click.option(
        "--cache",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where fetched bytes are kept; without it, $INGOT_CACHE or ~/.cache/ingot.",
    ),
    click.option(
        "--cache-size",
        type=Size(),
        metavar="SIZE",
        help="How many, of registries and of URLs each; without it, as many as DIR was given last, 10Gi at first.",
    ),
    click.option("--hydrate", is_flag=True, help="Fetch images from registries whole, in the background."),
    click.option("--rate", type=Size(), default=0, metavar="SIZE", help="Bytes a second for --hydrate at most."),
    click.option("--grace", type=click.FloatRange(0, 3600), default=10.0, show_default=True, help="Seconds to end in."),
]


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=LazyGroup, places=COMMANDS, invoke_without_command=True, epilog=_EXAMPLES)
@_options
@platform_option
@registry_options
@click.pass_context
def serve(context: click.Context, /, **options: Any) -> None:
    """Serve images as disks over NBD.

    SOURCE is a file or block device, a directory whose images are served as NAME/FILE, a URL, or a reference in a
    registry; the last two are fetched as clients read them. The disk in a qcow2 is served, or with --plain the bytes
    of the file. Exports are read-only, except raw ones that are named with --writable.

    Without --listen and --socket it serves on 127.0.0.1:10809, or on what LISTEN_FDS hands over. SIGTERM ends it after
    what clients have asked for so far.
    """
    if context.invoked_subcommand is None:
        run(**options)


def run(
    listens: tuple[tuple[str, int], ...],
    paths: tuple[Path, ...],
    socket_mode: int,
    share_port: bool,
    exports: dict[str, str],
    directory: Path | None,
    writable: tuple[str, ...],
    plain: tuple[str, ...],
    tls: Path | None,
    client_ca: Path | None,
    processes: int,
    connections: int,
    metrics: tuple[str, int] | None,
    control: Path | None,
    cache: Path | None,
    cache_size: int | None,
    hydrate: bool,
    rate: int,
    grace: float,
    platform: "Platform | None",
    access: Access,
) -> None:
    """Serves until it is ended."""
    from ingot.images.cache import default_directory
    from ingot.images.fault import ImageFault
    from ingot.serve.afar import AfarOptions
    from ingot.serve.link import WorkerLost
    from ingot.serve.security import Security
    from ingot.serve.server import serve as serve_exports
    from ingot.serve.supervisor import Terms

    if client_ca is not None and tls is None:
        raise click.UsageError("--client-ca needs --tls")
    if rate and not hydrate:
        raise click.UsageError("--rate needs --hydrate")
    entries = _entries(exports, directory, writable, plain, str(platform or ""))
    if not entries and control is None:
        raise click.UsageError("there is nothing to serve: name it with --export or --directory, or give --control")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    security = None if tls is None else Security(tls.absolute(), client_ca.absolute() if client_ca else None)
    afar = AfarOptions(
        str((cache or default_directory()).absolute()),
        cache_size,
        str(access.auth_file.absolute()) if access.auth_file else "",
        str(access.ca.absolute()) if access.ca else "",
        access.insecure,
        hydrate,
        rate,
    )
    terms = Terms(afar, processes, connections, grace, security)
    try:
        listeners = _listeners(listens, paths, socket_mode, share_port)
        tell = _teller(listeners, tls is not None)
        asyncio.run(serve_exports(listeners, entries, terms, control=control, metrics=metrics, ready=tell))
    except (ImageFault, WorkerLost) as error:
        raise click.ClickException(str(error)) from error


def _entries(
    exports: dict[str, str], directory: Path | None, writable: tuple[str, ...], plain: tuple[str, ...], platform: str
) -> "list[Entry]":
    """`platform` is for those that come from registries."""
    from ingot.images.pipeline.source import Kind, Source
    from ingot.serve.entry import Entry

    for name in (*writable, *plain):
        if name not in exports:
            raise click.UsageError(f"{name!r} is named with --writable or --plain, and there is no --export {name}=…")
    platforms = {name: platform for name, text in exports.items() if Source.parse(text).kind is Kind.REGISTRY}
    if platform and not platforms:
        raise click.UsageError("--platform is for exports of images in registries, and there is none")
    found = [
        Entry(name, source, name in writable, name in plain, platforms.get(name, ""))
        for name, source in exports.items()
    ]
    return [*found, Entry("", str(directory.absolute()))] if directory else found


def _listeners(
    listens: tuple[tuple[str, int], ...], paths: tuple[Path, ...], mode: int, shared: bool
) -> "list[Listener]":
    from ingot.images.fault import ImageFault
    from ingot.images.nbd.address import PORT
    from ingot.serve.listening import adopted, tcp, unix

    found = adopted()
    addresses = listens or (() if paths or found else (("127.0.0.1", PORT),))
    for host, port in addresses:
        try:
            found.append(tcp(host, port, shared))
        except OSError as error:
            why = f"it cannot be listened on: {error.strerror}; choose another with --listen, port 0 for any free one"
            raise ImageFault(f"{host}:{port}", "Taken", why) from error
    return [*found, *(unix(path.absolute(), mode) for path in paths)]


def _teller(listeners: "list[Listener]", encrypted: bool) -> Callable[[int | None], None]:
    def tell(metrics: int | None) -> None:
        for listener in listeners:
            click.echo(f"serving on {listener.uri(encrypted)}")
        if metrics is not None:
            click.echo(f"metrics on port {metrics}")

    return tell
