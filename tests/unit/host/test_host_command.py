"""Programs that are run to their end."""

import asyncio
import os

import pytest

from ingot.host.command import run
from ingot.host.process import Process


async def test_what_a_program_has_started_is_killed_with_it(tmp_path):
    told = tmp_path / "told"
    os.mkfifo(told)
    task = asyncio.create_task(run(["sh", "-c", f"sleep 60 & echo $! > {told}; wait"]))
    started = Process.of(int(await asyncio.to_thread(told.read_text)))
    assert started.alive
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await started.ended(5)


async def test_a_program_whose_start_is_cancelled_does_not_go_on(tmp_path):
    told = tmp_path / "told"
    task = asyncio.create_task(run(["sh", "-c", f"sleep 60 & echo $! > {told}; wait"]))
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await task
    # The shell is gone by now. What it had started got its signal then, and may take a moment to go.
    started = told.read_text() if told.exists() else ""
    assert not started or await Process.of(int(started)).ended(5)
