"""Processes that outlive their starter."""

import os
import time

from ingot.host.process import spawn


async def test_a_process_that_ends_with_its_parent_has_none_of_ours(tmp_path, monkeypatch):
    leave = os._exit

    def leave_late(code):
        time.sleep(0.2)
        leave(code)

    monkeypatch.setattr(os, "_exit", leave_late)
    process = spawn(["setpriv", "--pdeathsig", "TERM", "sleep", "60"], log=tmp_path / "log")
    try:
        assert not await process.ended(0.4)
    finally:
        await process.end(5)
