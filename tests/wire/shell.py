"""kubectl as a process: run to its end, or followed while it watches."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wire.normal import lines
from wire.transcript import Transcript

SECONDS = 30.0
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Output:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl for one kubeconfig and namespace; `home` holds its caches and nothing of the machine's user."""

    program: Path
    kubeconfig: Path
    namespace: str
    home: Path

    async def __call__(self, *arguments: str, stdin: Any = None) -> Output:
        """Runs a command; `stdin` is text, or an object or list of objects to send as JSON."""
        process = await self._start(*arguments)
        sent = stdin if isinstance(stdin, str) else json.dumps(as_list(stdin)) if stdin is not None else ""
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate(sent.encode())
        return Output(process.returncode or 0, out.decode(), err.decode())

    @asynccontextmanager
    async def following(self, *arguments: str) -> AsyncIterator[asyncio.StreamReader]:
        """The output of a command that goes on until the context is left."""
        process = await self._start(*arguments)
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def _start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self.program,
            f"--namespace={self.namespace}",
            f"--cache-dir={self.home}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home), "PATH": "/usr/bin:/bin"},
            cwd=self.home,
        )


class Terminal:
    """Commands as a person types them, written down with what they print."""

    def __init__(self, kubectl: Kubectl, transcript: Transcript) -> None:
        self._kubectl = kubectl
        self._transcript = transcript

    async def __call__(self, command: str, *, stdin: Any = None, view: Callable[[str], str] = str) -> Output:
        """`view` picks what is written down of what was printed, where most of it is of no concern."""
        output = await self._kubectl(*shlex.split(command), stdin=stdin)
        told = {"code": output.code, "out": lines(view(output.out)), "err": lines(output.err)}
        self._transcript.add(f"kubectl {command}", {name: value for name, value in told.items() if value})
        return output

    async def until(self, command: str, holds: Callable[[Output], bool], *, view: Callable[[str], str] = str) -> Output:
        """Types a command until something holds of what it does; only that is written down."""
        async with asyncio.timeout(SECONDS):
            output = await self._kubectl(*shlex.split(command))
            while not holds(output):
                await asyncio.sleep(PAUSE)
                output = await self._kubectl(*shlex.split(command))
        return await self(command, view=view)

    @asynccontextmanager
    async def following(self, command: str) -> AsyncIterator[Callable[[], Awaitable[str]]]:
        """The lines that a command prints while it goes on, each written down when it is asked for."""
        async with self._kubectl.following(*shlex.split(command)) as stream:

            async def printed() -> str:
                async with asyncio.timeout(SECONDS):
                    line = (await stream.readline()).decode()
                self._transcript.add(f"kubectl {command}", lines(line))
                return line

            yield printed


def as_list(objects: Any) -> Any:
    return {"apiVersion": "v1", "kind": "List", "items": objects} if isinstance(objects, list) else objects


async def documents(stream: asyncio.StreamReader) -> AsyncIterator[Any]:
    """JSON documents as they come, one after the other, however they are laid out."""
    decoder, held = json.JSONDecoder(), ""
    while chunk := await stream.read(65536):
        held = (held + chunk.decode()).lstrip()
        while held:
            try:
                document, end = decoder.raw_decode(held)
            except json.JSONDecodeError:
                break
            yield document
            held = held[end:].lstrip()
