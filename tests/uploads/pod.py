"""The pod of an upload without its process and TLS, the endpoint before it, and a client of either."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from eventual import eventually
from ingot.control.reach import Line
from ingot.control.uploads.credentials import Credentials
from ingot.control.uploads.token import Grant
from ingot.host import sockets
from ingot.images.upload import Fill, Upload, most_bytes
from ingot.web.destination import Destination, Destinations
from ingot.web.door import Door
from ingot.web.proxy import Proxy
from ingot.web.receiver import Receiver

MIB = 1 << 20
SIZE = 8 * MIB


class OnePod(Destinations):
    """Whoever asks is sent there."""

    def __init__(self, found: Destination) -> None:
        self._found = found

    async def grant(self, token: str) -> Grant:
        return Grant("default", "disk", "a-claim", 0)

    async def find(self, grant: Grant) -> Destination:
        return self._found


class Pod:
    """A receiver that listens as in its pod, on a volume of SIZE bytes, and a client of it."""

    def __init__(self, fill: Fill, directory: Path) -> None:
        self._target = directory / "disk.img"
        self._path = "/"
        self._directory = directory
        self.socket = directory / "pod"
        self.receiver = Receiver("word")
        self.upload = Upload(fill, most_bytes(SIZE), directory / "record", self.receiver.changed)
        self.receiver.upload = self.upload
        self._door = Door(self.receiver._handle)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with _answering(self._door, self.socket) as self._http:
            yield
        self.upload.end()

    @asynccontextmanager
    async def behind_endpoint(self) -> AsyncIterator[None]:
        """The client speaks to the endpoint that passes its upload on."""
        destination = Destination(Line("pod", self.socket), Credentials(bytes(32), "word"), "a-claim")
        direct = self._http, self._path
        self._path = "/v1beta1/upload"
        async with _answering(Door(Proxy(OnePod(destination))), self._directory / "endpoint") as self._http:
            yield
        self._http, self._path = direct

    @property
    def has_clients(self) -> bool:
        """Whether somebody is connected, as far as the receiver knows."""
        return any(each.connected for each in self._door.connections)

    @property
    def disk(self) -> bytes | None:
        """What is in the volume under the name of its disk."""
        return self._target.read_bytes() if self._target.exists() else None

    async def put(self, *pieces: bytes, **headers: str) -> tuple[int, str]:
        """The answer to a body in chunks, without a length unless one is said."""
        return await self._put(_each(*pieces), headers)

    async def send(self, content: bytes, **headers: str) -> tuple[int, str]:
        """The answer to a body whose length is said."""
        return await self._put(content, headers)

    async def fill_in(self, form: aiohttp.FormData, **headers: str) -> tuple[int, str]:
        """The answer to a form."""
        return await self._put(form, headers, "/form")

    async def cut(self, *pieces: bytes, **headers: str) -> None:
        """The connection breaks behind these bytes."""
        wanted = self.upload.offset + len(b"".join(pieces))

        async def broken() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece
            await eventually(lambda: is_so(self.upload.offset == wanted))
            raise ConnectionResetError

        with pytest.raises((aiohttp.ClientError, ConnectionResetError)):
            await self._put(broken(), headers)
        await eventually(lambda: is_so(self.receiver._idle.is_set()))

    async def _put(self, body: object, headers: dict[str, str], path: str = "") -> tuple[int, str]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._http.put(path or self._path, data=body, headers=named) as answer:
            return answer.status, await answer.text()

    async def head(self) -> dict[str, str]:
        async with self._http.head(self._path) as answer:
            return {name: value for name, value in answer.headers.items() if name.startswith("Upload-")}


@asynccontextmanager
async def _answering(door: Door, place: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """A client before a door at a socket, that knows the word."""
    await door.open_socket(sockets.listen(place))
    known = {"Authorization": "Bearer word"}
    try:
        with sockets.short(place) as name:
            connector = aiohttp.UnixConnector(name)
            async with aiohttp.ClientSession("http://pod/", connector=connector, headers=known) as http:
                yield http
    finally:
        await door.close()


async def _each(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def is_so(value: bool) -> bool:
    return value
