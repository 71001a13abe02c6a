"""A guest's screen on a local port: each connection is a stream of its own."""

import asyncio
import contextlib
import errno
from typing import TYPE_CHECKING

import click
from aiohttp import ClientWebSocketResponse, WSMsgType

from ingot.cli.listen import taken
from ingot.cli.vm.talk import open_stream

if TYPE_CHECKING:
    from ingot.cli.connection import Session

HOST = "127.0.0.1"
CHUNK = 32 << 10


async def offer(session: "Session", name: str, port: int, viewer: str) -> int:
    """Offers the screen until the viewer ends, or for ever. The exit code is the viewer's."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with await open_stream(session, name, "vnc") as socket:
                await _splice(reader, writer, socket)
        except click.ClickException as error:
            click.echo(f"Error: {error.message}", err=True)
        finally:
            writer.transport.abort()

    # Refused here and now, and not when a client connects.
    await (await open_stream(session, name, "vnc")).close()
    try:
        server = await asyncio.start_server(serve, HOST, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise click.ClickException(taken(HOST, port)) from error
    async with server:
        address = f"vnc://{HOST}:{server.sockets[0].getsockname()[1]}"
        click.echo(f"The screen of {name} is at {address}")
        if viewer:
            process = await asyncio.create_subprocess_exec(viewer, address)
            return await process.wait()
        click.echo("Ctrl-C ends it.", err=True)
        await server.serve_forever()
    return 0


async def _splice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket: ClientWebSocketResponse) -> None:
    async def up() -> None:
        while chunk := await reader.read(CHUNK):
            await socket.send_bytes(chunk)

    async def down() -> None:
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                writer.write(message.data)
                await writer.drain()

    sides = [asyncio.create_task(up()), asyncio.create_task(down())]
    try:
        await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for side in sides:
            side.cancel()
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(*sides, return_exceptions=True)
