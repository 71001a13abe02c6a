"""`ingot vm vnc`: the screen of a guest, for any VNC client."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot vm vnc web --viewer")
@click.argument("name")
@connection_options()
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port on 127.0.0.1; without it, a free one.")
@click.option("--viewer", is_flag=True, help="Open remote-viewer, and leave when it is closed.")
def vnc(name: str, connection: Connection, port: int, viewer: bool) -> None:
    """Offer the screen of a running machine on a port of this computer, until Ctrl-C.

    Everybody on this computer can use the port. The screen has one seat: who connects later takes it over.
    """
    program = _viewer() if viewer else ""

    async def work(session: "Session") -> int:
        from ingot.cli.vm.screen import offer

        return await offer(session, name, port, program)

    run(connection, work)


def _viewer() -> str:
    import shutil

    found = shutil.which("remote-viewer")
    if not found:
        raise click.ClickException(
            "remote-viewer is not installed; install virt-viewer, or leave --viewer out and use any VNC client"
        )
    return found
