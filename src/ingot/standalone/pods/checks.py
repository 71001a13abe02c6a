"""Asking a container whether it is well: by a command, a connection or an HTTP request."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingot.api.object import Object
from ingot.host.command import CommandFailed, Limits, run


@dataclass(frozen=True, slots=True)
class Inside:
    """How a command is run in a container: the words before it, how its own are to be written, and its environment."""

    words: Sequence[str]
    environment: Mapping[str, str]


async def check(container: Object, probe: Object, inside: Inside, address: str) -> str:
    """Asks once, at the pod's address, within the probe's time; what is wrong, "" if nothing is."""
    seconds = float(probe.get("timeoutSeconds") or 1)
    if "exec" in probe:
        return await _command(inside, seconds)
    try:
        async with asyncio.timeout(seconds):
            if "httpGet" in probe:
                return await _http(container, probe["httpGet"], address)
            return await _connection(container, probe["tcpSocket"], address)
    except TimeoutError:
        return f"no answer within {seconds:g} s"


async def _command(inside: Inside, seconds: float) -> str:
    try:
        await run(inside.words, limits=Limits(seconds=seconds), environment=inside.environment)
    except CommandFailed as error:
        return error.stderr or f"exit code {error.code}"
    except OSError as error:
        return f"{inside.words[0]}: {error.strerror}"
    return ""


async def _connection(container: Object, wanted: Object, address: str) -> str:
    try:
        _, writer = await asyncio.open_connection(wanted.get("host") or address, _port(container, wanted["port"]))
    except OSError as error:
        return f"connection: {error.strerror or error}"
    writer.close()
    return ""


async def _http(container: Object, wanted: Object, address: str) -> str:
    import aiohttp

    scheme = str(wanted.get("scheme") or "HTTP").lower()
    port = _port(container, wanted["port"])
    url = f"{scheme}://{wanted.get('host') or address}:{port}{wanted.get('path') or '/'}"
    headers = [(header["name"], header["value"]) for header in wanted.get("httpHeaders") or ()]
    try:
        # As the kubelet does: a probe asks whether someone answers, not who.
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
            return "" if answer.status < 400 else f"HTTP {answer.status}"
    except (aiohttp.ClientError, OSError) as error:
        return f"HTTP: {error}"


def _port(container: Object, port: int | str) -> int:
    if isinstance(port, int):
        return port
    named = {each.get("name"): each["containerPort"] for each in container.get("ports") or ()}
    return int(named.get(port, port))
