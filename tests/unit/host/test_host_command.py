"""Programs that are run to their end."""

import asyncio

import pytest

from ingot.host.command import run
from ingot.host.process import Process


async def test_what_a_program_has_started_is_killed_with_it(tmp_path):
    pid = tmp_path / "pid"
    task = asyncio.create_task(run(["sh", "-c", f"sleep 60 & echo $! > {pid}; wait"]))
    while not (pid.exists() and pid.read_text()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await Process.of(int(pid.read_text())).ended(5)
