"""A talk with a guest's console: what is typed goes there, what it says is shown."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from aiohttp import ClientWebSocketResponse, WSMsgType

from ingot.api.kubevirt.subresources import PLAIN
from ingot.api.status import ApiError
from ingot.cli.vm import terminal
from ingot.cli.vm.acts import INSTANCES
from ingot.cli.vm.advice import refusal
from ingot.cli.vm.ear import Ear

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# What a node says when a guest ends, which is no failure.
HUNG_UP = "the guest has hung up"
BROKEN_OFF = "the connection broke off; the guest may still run, so connect again"


@dataclass(frozen=True, slots=True)
class Ending:
    """When a talk is over, besides Ctrl-] and the guest's end.

    `until`: when the guest has said this. `seconds`: after so long. `silence`: with input that is no terminal, when
    the guest has been silent for so long after the input's end.
    """

    until: bytes = b""
    seconds: float | None = None
    silence: float = 2.0


async def talk(session: "Session", name: str, ending: Ending) -> int:
    """Talks until it is over. The exit code: 1 when what was waited for was not said, or another took over."""
    async with await open_stream(session, name, "console") as socket:
        with terminal.raw() as interactive:
            if interactive:
                click.echo(f"Connected to the console of {name}. Leave with Ctrl-].\r", err=True)
            said = await _Talk(socket, ending, interactive, Ear(ending.until)).run()
    if said:
        click.echo(f"{name}: {said}", err=True)
    return 1 if said and (ending.until or said != HUNG_UP) else 0


async def open_stream(session: "Session", name: str, word: str) -> ClientWebSocketResponse:
    """A console or a screen. Raises ClickException with what is wrong and what to do."""
    path = INSTANCES.path(session.namespace, name, word)
    try:
        return await session.client.transport.websocket(path, protocols=(PLAIN,))
    except ApiError as error:
        raise await refusal(session, name, f"open its {word}", error) from error


@dataclass(slots=True)
class _Talk:
    socket: ClientWebSocketResponse
    ending: Ending
    interactive: bool
    ear: Ear
    heard: float = 0.0
    last: bytes = b"\n"

    async def run(self) -> str:
        """Why it is over; "" when it is as it should be."""
        listening = asyncio.create_task(self._listen())
        typing = asyncio.create_task(self._type())
        try:
            async with asyncio.timeout(self.ending.seconds):
                await asyncio.wait((listening, typing), return_when=asyncio.FIRST_COMPLETED)
                if not listening.done() and not self.interactive:
                    await self._hear_out(listening)
                return listening.result() if listening.done() else ""
        except TimeoutError:
            until = self.ending.until.decode(errors="replace")
            return f'has not said "{until}" in {self.ending.seconds:g} s' if until else ""
        finally:
            # While somebody listens, so that the goodbye is waited for: what was typed last has arrived by then.
            await self.socket.close()
            for task in (listening, typing):
                task.cancel()
            await asyncio.gather(listening, typing, return_exceptions=True)
            if self.last != b"\n":
                # What comes next, be it a prompt, is not the guest's.
                terminal.put(b"\r\n" if self.interactive else b"\n")

    async def _listen(self) -> str:
        while True:
            message = await self.socket.receive()
            self.heard = asyncio.get_running_loop().time()
            if message.type is WSMsgType.BINARY:
                terminal.put(message.data)
                self.last = message.data[-1:] or self.last
                if self.ear.hears(message.data):
                    return ""
            elif message.type is not WSMsgType.TEXT:
                return (message.type is WSMsgType.CLOSE and message.extra) or BROKEN_OFF

    async def _type(self) -> None:
        with contextlib.suppress(ConnectionError):
            async for chunk in terminal.typed(self.interactive):
                self.ear.type(chunk)
                await self.socket.send_bytes(chunk)

    async def _hear_out(self, listening: "asyncio.Task[str]") -> None:
        """Waits for the guest's last word once the input has ended."""
        if self.ending.until:
            await asyncio.wait((listening,))
            return
        loop = asyncio.get_running_loop()
        self.heard = max(self.heard, loop.time())
        while not listening.done() and (left := self.heard + self.ending.silence - loop.time()) > 0:
            await asyncio.wait((listening,), timeout=left)
