"""Unix sockets in directories of any depth."""

import asyncio
import stat
from pathlib import Path

import pytest

from ingot.host import sockets


@pytest.fixture(params=["near", "far" * 50])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    directory = tmp_path / str(request.param)
    directory.mkdir()
    return directory / "socket"


async def test_who_listens_is_reached_wherever_it_is(path: Path) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with await asyncio.start_unix_server(greet, sock=sockets.listen(path)):
        reader, writer = await sockets.connect(path)
        assert await reader.read() == b"hello"
        writer.close()


def test_it_is_for_its_owner_and_nothing_else_is_left_beside_it(path: Path) -> None:
    sockets.listen(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["socket"]


def test_one_that_a_dead_process_left_is_replaced(path: Path) -> None:
    sockets.listen(path).close()
    before = path.stat().st_ino
    sockets.listen(path, 0o660).close()
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_a_file_that_is_no_socket_stays(path: Path) -> None:
    path.write_bytes(b"a disk")
    with pytest.raises(FileExistsError, match="no socket"):
        sockets.listen(path)
    assert [each.read_bytes() for each in path.parent.iterdir()] == [b"a disk"]


async def test_nobody_there_is_an_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await sockets.connect(path)
    sockets.listen(path).close()
    with pytest.raises(ConnectionRefusedError):
        await sockets.connect(path)


def test_a_directory_that_is_not_there_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sockets.listen(tmp_path / "none" / "socket")
    assert list(tmp_path.iterdir()) == []
