"""`ingot up` with everything in it, as a user has it: machines are applied, watched, typed at and deleted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import aiohttp

from guest.console import Console
from guest.image.build import GuestImage
from ingot.api.kubevirt.names import offered_usages
from ingot.api.kubevirt.usage import DEFAULT_USAGE
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import EVENTS, INSTANCES, MACHINES, NODES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.objects import condition
from ingot.node.libvirtd import Libvirtd
from ingot_up import IngotUp
from kube.server import INGOT

T = TypeVar("T")
CONSOLE = "/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances/{name}/console"


class Lab(IngotUp):
    """A whole machine in a directory of its own, and a copy of the guest image that its guests can read.

    Nothing of it runs any more once it is left: what `ingot down --guests` does not end is an error.
    """

    # What makes a command one of the user that the machine belongs to.
    user: Sequence[str] = ()

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="ingot-"))
        # QEMU runs as another user, who must get to the disks.
        self.home.chmod(0o755)
        # Storage of a usage type beside the default one, which a test can fill.
        self.small = self.home / "small"
        self.small.mkdir()
        super().__init__(self.home / "d", [f"--usage-type=small={self.small}"])
        self.boot = self.home / "boot.img"
        shutil.copy(GuestImage.build(), self.boot)

    def __enter__(self) -> Self:
        # libvirtd has a mount namespace of its own: it sees what was mounted before it was started.
        if os.geteuid() == 0:
            mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=0711", "ingot-test", str(self.small)]
            subprocess.run(mount, check=True)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        down = [*self.user, *INGOT, "down", "--dir", str(self.directory), "--guests", "--timeout", "5"]
        said = subprocess.run(down, check=False, capture_output=True, text=True)
        super().__exit__(kind, error, trace)
        left = self._left()
        for pid, _ in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["umount", "--lazy", str(self.small)], check=False, capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)
        commands = [" ".join(command)[:300] for _, command in left]
        assert not left, f"`ingot down --guests` left {commands}"
        assert not said.returncode, f"`ingot down --guests`: {said.stdout}{said.stderr}"

    def _left(self) -> list[tuple[int, list[str]]]:
        """Processes that have not ended a moment after they were to."""
        deadline = time.monotonic() + 5
        while (left := self._all()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def _all(self) -> list[tuple[int, list[str]]]:
        # In a mount namespace of its own, libvirtd does not name the directory.
        libvirtd = Libvirtd(self.directory / "node" / "libvirt").process
        return self.processes() + ([(libvirtd.pid, ["libvirtd"])] if libvirtd else [])

    def processes(self, mark: str = "") -> list[tuple[int, list[str]]]:
        """Processes with the directory, or another text, in their arguments; our own parents are not among them."""
        wanted = mark or str(self.directory)
        found = [(pid, command) for pid, command in _commands() if any(wanted in word for word in command)]
        return [(pid, command) for pid, command in found if pid != os.getpid()]


def _commands() -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                yield int(entry.name), [word for word in words if word]


class WebSocketStream:
    """A console as the API serves it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data).encode()
        return bytes(message.data) if message.type is aiohttp.WSMsgType.BINARY else b""

    async def write(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def close(self) -> None:
        await self._socket.close()


@contextlib.asynccontextmanager
async def console_of(client: Client, instance: Object) -> AsyncIterator[Console]:
    """The console of a guest that runs."""
    path = CONSOLE.format(namespace=namespace_of(instance), name=name_of(instance))
    socket = await client.transport.websocket(path, protocols=("plain.kubevirt.io",))
    async with Console(WebSocketStream(socket)) as console:
        yield console


async def eventually(look: Callable[[], Awaitable[T | None]], what: Callable[[], object], seconds: float = 60.0) -> T:
    """The first true answer of `look`. When none comes in time, `what` tells what was found instead."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        if found := await look():
            return found
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"not in {seconds:g} s: {what()}")
        await asyncio.sleep(0.1)


async def node_name(client: Client) -> str:
    """The one node, once its agent takes machines."""

    async def look() -> str | None:
        nodes = (await client.list(NODES))["items"]
        return next((name_of(node) for node in nodes if DEFAULT_USAGE in offered_usages(node)), None)

    return await eventually(look, lambda: "no node offers storage: see the log of ingot agent")


async def instance_of(client: Client, machine: Object) -> Object | None:
    try:
        return await client.get(INSTANCES, name_of(machine), namespace_of(machine))
    except ApiError as error:
        if error.code != 404:
            raise
        return None


async def running(client: Client, machine: Object, seconds: float = 60.0) -> Object:
    """The instance of a machine, once its guest runs."""
    seen: list[Object | None] = [None]

    async def look() -> Object | None:
        seen[0] = await instance_of(client, machine)
        phase = ((seen[0] or {}).get("status") or {}).get("phase")
        return seen[0] if phase == "Running" else None

    return await eventually(look, lambda: (seen[0] or {}).get("status"), seconds)


async def refused(client: Client, machine: Object, reason: str, seconds: float = 60.0) -> str:
    """The message of an instance that is not started for that reason, as its condition has it."""
    seen: list[Object | None] = [None]

    async def look() -> str | None:
        seen[0] = await instance_of(client, machine)
        found = condition(seen[0] or {}, "Synchronized") or {}
        return str(found["message"]) if (found.get("status"), found.get("reason")) == ("False", reason) else None

    return await eventually(look, lambda: (seen[0] or {}).get("status"), seconds)


async def warning_of(client: Client, instance: Object, reason: str) -> str:
    """The message of the warning for that reason about an instance, once it is there."""
    selector = f"involvedObject.uid={uid_of(instance)},type=Warning,reason={reason}"

    async def look() -> str | None:
        found = await client.list(EVENTS, namespace_of(instance), field_selector=selector)
        return next((str(event["message"]) for event in found["items"]), None)

    return await eventually(look, lambda: f"no event with reason {reason}", 10)


@contextlib.asynccontextmanager
async def created(client: Client, machine: Object) -> AsyncIterator[Object]:
    """Creates a machine, which is gone again when the block ends, however it ends."""
    made = await client.create(MACHINES, machine)
    try:
        yield made
    finally:
        await deleted(client, made)


async def deleted(client: Client, machine: Object, seconds: float = 60.0) -> None:
    """Deletes a machine if it is still there, and waits until it and its instance are gone."""
    try:
        await client.delete(MACHINES, name_of(machine), namespace_of(machine), propagation="Foreground")
    except ApiError as error:
        if error.code != 404:
            raise
    seen: list[Object | None] = [None]

    async def look() -> bool:
        seen[0] = await instance_of(client, machine)
        if seen[0] is not None:
            return False
        machines = await client.list(MACHINES, namespace_of(machine))
        return not any(name_of(each) == name_of(machine) for each in machines["items"])

    await eventually(look, lambda: seen[0], seconds)
