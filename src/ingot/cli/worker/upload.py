"""`ingot worker upload`."""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.worker.progress import Progress
from ingot.cli.worker.report import words
from ingot.cli.worker.work import Outlet, is_file, outlet_options

if TYPE_CHECKING:
    from ingot.images.upload import Fill

_DIRECTORY = click.Path(file_okay=False, path_type=Path)


@click.command(epilog="Example: ingot worker upload --target disk.img --address 127.0.0.1 --tls tls --state state")
@click.option("--target", type=click.Path(path_type=Path), required=True, metavar="FILE|DEVICE")
@click.option("--size", type=int, default=0, metavar="BYTES", help="What the disk is grown to; 0 for as it is.")
@click.option("--limit", type=int, default=0, metavar="BYTES", help="The largest disk that is taken; 0 for any.")
@click.option("--content-type", type=click.Choice(("kubevirt", "archive")), default="kubevirt", show_default=True)
@click.option("--preallocate", is_flag=True, help="Leave no holes in the disk.")
@click.option("--address", required=True, metavar="ADDRESS", help="Where uploads are taken.")
@click.option("--port", type=click.IntRange(0, 65535), default=8443, show_default=True)
@click.option("--tls", type=_DIRECTORY, required=True, help="A mounted Secret: tls.crt, tls.key, and the secret word.")
@click.option("--called", default="the volume", metavar="WORDS", help="What the volume is to those who upload.")
@click.option("--state", type=_DIRECTORY, required=True, help="What is known of an upload that is under way.")
@outlet_options
def upload(
    target: Path,
    size: int,
    limit: int,
    content_type: str,
    preallocate: bool,
    address: str,
    port: int,
    tls: Path,
    called: str,
    state: Path,
    outlet: Outlet,
) -> None:
    """Fill a volume with what is uploaded, and end when that is whole and on the disk.

    A worker that is started again goes on where the last one was, when the client does.
    """
    from ingot.images.pipeline.options import ImportOptions
    from ingot.images.upload import importing, most_bytes, unpacking

    names = {target: "the volume", target.parent: "the volume", state: "the worker's state"}
    with outlet.work(names) as work:
        room = limit or size
        if content_type == "archive":
            fill = unpacking(target.parent, room, work.progress)
        else:
            journals = state / "journals"
            options = ImportOptions(
                size=size,
                limit=limit,
                preallocate=preallocate,
                padded=True,
                state=journals,
                replace=True,
                only_file=is_file(target),
            )
            fill = importing(target, options, work.progress)
        found = asyncio.run(_serve(fill, most_bytes(room), (address, port), tls, state, names, called, work.progress))
        if content_type == "archive":
            _forget(target.parent)
        work.tell({"virtualSize": found, "done": work.progress.document()["done"]})


def _forget(volume: Path) -> None:
    """Take away what says in the volume that all of its files are there: the state does by now."""
    from ingot.images.archive.staging import Staging

    with Staging(volume) as staging:
        staging.forget()


async def _serve(
    fill: "Fill",
    most: int,
    place: tuple[str, int],
    tls: Path,
    state: Path,
    names: Mapping[Path, str],
    called: str,
    progress: Progress,
) -> int:
    """Takes the upload; the size of its disk."""
    from ingot.images.upload import Upload
    from ingot.web.receiver import Receiver

    receiver = Receiver(_word(tls), lambda fault: words(fault, names), called, progress.refuse)
    upload = Upload(fill, most, state / "upload", receiver.changed)
    return await receiver.run(upload, *place, _context(tls), progress)


def _word(tls: Path) -> str:
    from ingot.control.uploads.credentials import WORD

    return (tls / WORD).read_text()


def _context(tls: Path) -> ssl.SSLContext:
    from ingot.control.uploads.credentials import CERTIFICATE, KEY

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls / CERTIFICATE, tls / KEY)
    return context
