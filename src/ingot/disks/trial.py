"""A first look through a bridge: one that cannot open its endpoint would go on trying without a word."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ingot.disks.endpoint import Network
from ingot.disks.fault import DiskFault
from ingot.disks.imageopts import address
from ingot.disks.nbdkit import url_of
from ingot.disks.source.refusal import refusal
from ingot.host.command import CommandFailed, CommandTimeout, run

SECONDS = 15.0
_MARGIN = 1.0
# What nbdkit, curl and GnuTLS say, and what it means: the reason, and the cure.
_MEANINGS = (
    (("does not support 'range'",), "NoRanges", "the server does not answer to range requests: use another server"),
    (
        ("certificate", "Certificate"),
        "BadCertificate",
        "check certConfigMap, which has to hold the authority of the server's certificate",
    ),
    (
        ("error: 401", "error: 403", "error: 407"),
        "AccessDenied",
        "check the Secret that secretRef names",
    ),
    (
        ("error: 404", "error: 410", "No such file or directory"),
        "NotFound",
        "correct the address, or put the image there",
    ),
    (
        ("resolve", "connect", "handshake", "Timeout was reached", "error: 5", "TLS"),
        "Unreachable",
        "see that the server runs and is well",
    ),
)


async def attempt(volume: str, endpoint: Network, command: Sequence[str], socket: Path) -> None:
    """Opens the endpoint once, by an nbdkit that `command` starts on the socket and that ends with this.

    Raises DiskFault: Unreachable, AccessDenied, NotFound, BadCertificate, NoRanges, or BridgeFailed when nbdkit says
    something else.
    """
    failure: CommandFailed | None = None
    # nbdkit waits for its servers whatever happens to the process that started it: there is somebody else to end it.
    server = await asyncio.create_subprocess_exec(
        *("timeout", "--signal=KILL", f"{SECONDS + _MARGIN:g}", *command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            await _open(server, socket)
    except CommandFailed as error:
        failure = error
    except TimeoutError:
        failure = CommandTimeout("nbdkit", SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        _, said = await server.communicate()
        _remove(socket)
    if failure is not None:
        raise _fault(volume, endpoint, failure, said.decode(errors="replace")) from failure


async def _open(server: asyncio.subprocess.Process, socket: Path) -> None:
    while not _serves(socket):
        if server.returncode is not None:
            raise CommandFailed("nbdkit", server.returncode, "it ended at once")
        await asyncio.sleep(0.01)
    await run(["qemu-img", "info", "-f", "raw", f"nbd+unix:///?socket={quote(str(socket))}"])


def _serves(socket: Path) -> bool:
    return socket.is_socket()


def _remove(socket: Path) -> None:
    socket.unlink(missing_ok=True)


def _fault(volume: str, endpoint: Network, failure: CommandFailed, log: str) -> DiskFault:
    """What nbdkit found wrong, without what QEMU makes of it, and the same at every try."""
    where = address(endpoint)
    if isinstance(failure, CommandTimeout):
        message = f"{where} did not answer in {SECONDS:g} s: see that the server runs and is well"
        return refusal(volume, "Unreachable", message)
    lines = [line.partition("error: ")[2] for line in log.splitlines() if "error: " in line]
    said = lines[-1] if lines else "nbdkit failed without a word"
    if endpoint.protocol != "nbd":
        said = said.replace(url_of(endpoint), where)
    for words, reason, cure in _MEANINGS:
        if any(word in said for word in words):
            return refusal(volume, reason, f"{where} cannot be used ({said}): {cure}")
    return refusal(volume, "BridgeFailed", f"{where} cannot be used ({said})")
