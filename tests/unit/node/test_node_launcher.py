"""The launcher pod as the node sees it."""

import asyncio
import os
from pathlib import Path

import pytest

from ingot.node import launcher


@pytest.mark.parametrize(
    ("pod", "going"),
    [
        (None, True),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, True),
        ({"metadata": {}, "status": {"phase": "Failed"}}, True),
        ({"metadata": {}, "status": {"phase": "Running"}}, False),
        ({"metadata": {}}, False),
    ],
)
def test_a_pod_is_going_when_it_is_deleted_or_over(pod: dict[str, object] | None, going: bool) -> None:
    assert launcher.is_going(pod) is going


async def test_a_launcher_ends_when_it_is_let_go(tmp_path: Path) -> None:
    private = tmp_path / "pods" / "p1" / "volumes" / "kubernetes.io~empty-dir" / "ingot-private"
    private.mkdir(parents=True)
    os.mkfifo(private / "end")
    waiting = await asyncio.create_subprocess_exec("cat", str(private / "end"))
    async with asyncio.timeout(10):
        while waiting.returncode is None:
            launcher.let_go(tmp_path, "p1")
            await asyncio.sleep(0.01)
    assert waiting.returncode == 0


def test_a_launcher_that_is_gone_is_no_error(tmp_path: Path) -> None:
    launcher.let_go(tmp_path, "p1")
    private = tmp_path / "pods" / "p1" / "volumes" / "kubernetes.io~empty-dir" / "ingot-private"
    private.mkdir(parents=True)
    os.mkfifo(private / "end")
    launcher.let_go(tmp_path, "p1")
