"""The control socket: exports are added, removed and listed while the server runs. One line of JSON each way."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ingot.host import sockets
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Source
from ingot.serve.entry import Entry
from ingot.serve.listening import unix
from ingot.serve.register import PREPARING, Standing
from ingot.serve.supervisor import Supervisor

_MOST_LINE = 1 << 20
_MOST_ASKED = 1 << 16
# An image that was not made for it is fetched whole when it is added.
_ANSWER_SECONDS = 3600.0
_QUESTION_SECONDS = 10.0


@contextlib.asynccontextmanager
async def controlled(supervisor: Supervisor, path: Path) -> AsyncIterator[None]:
    """Answers on a socket that only its owner may use. Raises ImageFault."""
    listener = unix(path)
    try:
        server = await asyncio.start_unix_server(
            lambda reader, writer: _converse(supervisor, reader, writer), sock=listener.socket, limit=_MOST_ASKED
        )
        async with server:
            yield
    finally:
        listener.remove()


async def _converse(supervisor: Supervisor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        try:
            question = json.loads(await asyncio.wait_for(reader.readline(), _QUESTION_SECONDS))
            answer = await _answer(supervisor, question)
        except ImageFault as fault:
            answer = {"error": str(fault)}
        except (ValueError, KeyError, TypeError):
            answer = {"error": "question: it is none that this server knows"}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
    writer.close()


async def _answer(supervisor: Supervisor, question: dict[str, Any]) -> dict[str, Any]:
    match question["do"]:
        case "add":
            await supervisor.add(Entry.from_record(question["entry"]))
            return {}
        case "remove":
            await supervisor.remove(str(question["name"]))
            return {}
        case "list":
            standing = await supervisor.standing()
            return {"exports": [_told(export) for export in standing], "workers": supervisor.workers}
        case _:
            raise ValueError(question["do"])


def _told(standing: Standing) -> dict[str, Any]:
    totals = standing.totals.exports.values()
    done, whole = max((total.preparing for total in totals), default=(0, 0))
    return {
        "name": standing.entry.name,
        "source": str(Source.parse(standing.entry.source)),
        "writable": standing.entry.writable,
        "plain": standing.entry.plain,
        "size": standing.size,
        "state": standing.state,
        "progress": {"done": done, "whole": whole} if standing.state == PREPARING else None,
        "connections": sum(total.present for total in totals),
        "read": sum(total.tally.read for total in totals),
        "written": sum(total.tally.written for total in totals),
        "errors": sum(total.tally.errors for total in totals),
        "fetched": sum(total.fetched for total in totals),
    }


def ask(path: Path, question: dict[str, Any]) -> dict[str, Any]:
    """Asks the server whose control socket that is. Raises ImageFault."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with made:
            made.settimeout(_ANSWER_SECONDS)
            with sockets.short(path) as name:
                made.connect(name)
            made.sendall(json.dumps(question).encode() + b"\n")
            with made.makefile("rb") as file:
                answer: dict[str, Any] = json.loads(file.readline(_MOST_LINE))
    except (OSError, ValueError) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or error
        why = f"no server answers there ({said}); name the one that `ingot serve --control` was given"
        raise ImageFault(str(path), "NoServer", why) from error
    if "error" in answer:
        subject, _, why = str(answer["error"]).partition(": ")
        raise ImageFault(subject, "Refused", why)
    return answer
