"""Copies give way before guests lack room."""

import asyncio
import os

import pytest

from ingot.host.descriptor import Descriptor
from ingot.node import room


async def test_work_is_done_while_there_is_room(tmp_path):
    done = []

    async def work():
        done.append(True)

    await room.while_there_is_room(work(), [tmp_path])
    assert done


async def test_work_is_broken_off_when_there_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "LEAST_ROOM", 1 << 60)
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(room.NoRoom, match=f"{tmp_path}: make room there"):
        await room.while_there_is_room(work(), [tmp_path])
    assert ended


async def test_what_work_raises_is_raised(tmp_path):
    async def work():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await room.while_there_is_room(work(), [tmp_path])


def test_a_filesystem_that_is_for_one_copy_is_not_watched(tmp_path):
    file = Descriptor.open(tmp_path / "copy", os.O_RDWR | os.O_CREAT)
    assert room.shared([(file, 1)]) == [tmp_path]
    assert room.shared([(file, 1 << 60)]) == []
