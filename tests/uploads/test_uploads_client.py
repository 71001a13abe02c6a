"""`ingot volume upload`, interrupted: it goes on with the same file, and with no other."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import click
import pytest
from aiohttp.test_utils import RawTestServer

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, UPLOAD_TOKEN_REQUESTS
from ingot.api.status import ApiError
from ingot.cli.volume import sending
from ingot.cli.volume.parcel import Parcel
from ingot.cli.volume.sending import Sending
from ingot.control.reach import Line
from ingot.control.uploads.credentials import credentials_of
from ingot.web.destination import Destination
from ingot.web.proxy import Proxy
from uploads.disks_to_send import MIB, a_disk
from uploads.pod import OnePod
from uploads.worker_process import UploadWorker

SIZE = 64 * MIB
LENGTH = 16 * MIB
CUT = 6 * MIB


class Api:
    """The API of one volume, as far as an upload asks it."""

    transport = SimpleNamespace(config=SimpleNamespace(ca=None))

    def __init__(self) -> None:
        self.phase = "UploadReady"

    async def get(self, resource: Resource, name: str, _namespace: str) -> Object:
        if resource is not DATA_VOLUMES:
            raise ApiError(404, "NotFound", name)
        return {"metadata": {"name": name}, "status": {"phase": self.phase}}

    async def create(self, resource: Resource, _request: Object) -> Object:
        assert resource is UPLOAD_TOKEN_REQUESTS
        return {"status": {"token": "of-a-test"}}


class Desk:
    """Where files are sent from: the command, the endpoint, and behind it a worker."""

    def __init__(self, worker: UploadWorker, url: str) -> None:
        self.worker, self._url = worker, url
        self.api = Api()
        self._session: Any = SimpleNamespace(client=self.api, namespace="default")

    async def send(self, file: Path) -> None:
        await Sending(self._session, "disk", self._url, False).send(Parcel.of(file))

    async def offset(self) -> int:
        known = {"Authorization": "Bearer of-a-test"}
        async with aiohttp.ClientSession() as http, http.head(f"{self._url}{sending.PATH}", headers=known) as answer:
            return int(answer.headers["Upload-Offset"])

    async def interrupted(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C, when the first bytes have arrived."""

        async def some(parcel: Parcel, _offset: int, _tell: Callable[[int, int], None]) -> AsyncIterator[bytes]:
            with parcel.path.open("rb") as opened:
                yield opened.read(CUT)
            await asyncio.Event().wait()

        with monkeypatch.context() as patched:
            patched.setattr(Parcel, "pieces", some)
            task = asyncio.create_task(self.send(file))

            async def arrived() -> bool:
                assert not task.done(), task.result()
                return await self.offset() == CUT

            await eventually(arrived)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @property
    def disk(self) -> bytes:
        assert self.worker.ended() == 0
        return self.worker.target.read_bytes()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    with UploadWorker(tmp_path, size=SIZE) as worker:
        own = base64.b64encode((tmp_path / "tls" / "tls.crt").read_bytes()).decode()
        word = base64.b64encode(worker.word.encode()).decode()
        line = Line(worker.url.removeprefix("https://").rstrip("/"))
        destination = Destination(line, credentials_of({"data": {"tls.crt": own, "word": word}}), "a-claim")
        async with RawTestServer(Proxy(OnePod(destination))) as server:
            yield Desk(worker, str(server.make_url("")).rstrip("/"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "disk.raw"
    a_disk(made, LENGTH, LENGTH)
    return made


def padded(content: bytes) -> bytes:
    return content + bytes(SIZE - len(content))


async def test_the_same_file_goes_on_where_it_was(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """B8."""
    content = a_disk(file, LENGTH, LENGTH)
    offsets: list[int] = []
    pieces = Parcel.pieces

    def watched(parcel: Parcel, offset: int, tell: Callable[[int, int], None]) -> AsyncIterator[bytes]:
        offsets.append(offset)
        return pieces(parcel, offset, tell)

    await desk.interrupted(file, monkeypatch)
    monkeypatch.setattr(Parcel, "pieces", watched)
    await desk.send(file)
    assert offsets[-1] == CUT
    assert "anew" not in capsys.readouterr().err
    assert desk.disk == padded(content)


async def test_a_line_that_breaks_ever_again_is_no_end_while_bytes_arrive(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = a_disk(file, LENGTH, LENGTH)

    async def a_quarter(parcel: Parcel, offset: int, _tell: Callable[[int, int], None]) -> AsyncIterator[bytes]:
        end = offset + LENGTH // 4
        yield content[offset:end]
        if end < LENGTH:
            await eventually(lambda: arrived(end))
            raise ConnectionResetError

    async def arrived(end: int) -> bool:
        return await desk.offset() == end

    monkeypatch.setattr(Parcel, "pieces", a_quarter)
    monkeypatch.setattr(sending, "_PAUSES", (0.1, 0.1))
    await desk.send(file)
    assert desk.disk == padded(content)


@pytest.mark.parametrize("longer", [0, MIB, -MIB])
async def test_a_file_that_was_built_anew_is_sent_anew(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], longer: int
) -> None:
    """B8: of the same length or another one, and that is said."""
    await desk.interrupted(file, monkeypatch)
    content = a_disk(file, LENGTH + longer, LENGTH + longer, seed=2)
    await desk.send(file)
    assert "begun anew" in capsys.readouterr().err
    assert desk.disk == padded(content)


async def test_a_file_that_is_changed_between_two_tries_is_not_mixed(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(parcel: Parcel, _offset: int, _tell: Callable[[int, int], None]) -> AsyncIterator[bytes]:
        yield bytes(CUT)
        os.utime(parcel.path, ns=(1, 1))
        raise ConnectionResetError

    monkeypatch.setattr(Parcel, "pieces", broken)
    monkeypatch.setattr(sending, "_PAUSES", (0.1, 0.1))
    with pytest.raises(click.ClickException, match="was changed while it was sent: run the same command again"):
        await desk.send(file)


@pytest.mark.parametrize("change", [lambda file: poke(file, MIB), lambda file: os.truncate(file, LENGTH - 1)])
async def test_a_file_that_is_changed_while_it_is_sent_is_not_taken(
    desk: Desk,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path], None],
) -> None:
    """The one try that would succeed has brought bytes of both: its last ones stay here."""
    pieces = Parcel.pieces

    async def changing(parcel: Parcel, offset: int, tell: Callable[[int, int], None]) -> AsyncIterator[bytes]:
        async for piece in pieces(parcel, offset, tell):
            yield piece
            change(file)

    monkeypatch.setattr(Parcel, "pieces", changing)
    with pytest.raises(click.ClickException, match="was changed while it was sent: run the same command again"):
        await desk.send(file)
    assert "tried again" not in capsys.readouterr().err
    monkeypatch.setattr(Parcel, "pieces", pieces)
    await desk.send(file)
    assert desk.disk == padded(await asyncio.to_thread(file.read_bytes))


def poke(file: Path, place: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(b"poked")


async def test_a_volume_that_another_upload_has_filled_is_no_success(desk: Desk, file: Path) -> None:
    """B8: its last byte was there before this command was."""
    desk.api.phase = "Succeeded"
    with pytest.raises(click.ClickException, match="was filled by an upload that was begun before this one"):
        await desk.send(file)


@pytest.mark.parametrize("anew", [False, True])
async def test_an_answer_that_was_lost_is_a_success(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    if anew:
        await desk.interrupted(file, monkeypatch)
    content = a_disk(file, LENGTH, LENGTH, seed=2)

    async def all_but_the_answer(answer: aiohttp.ClientResponse) -> bool:
        if answer.method == "PUT":
            desk.api.phase = "Succeeded"
        return answer.method == "HEAD"

    monkeypatch.setattr(sending, "_accepted", all_but_the_answer)
    monkeypatch.setattr(sending, "_PAUSES", (0.1, 0.1))
    await desk.send(file)
    assert desk.disk == padded(content)
