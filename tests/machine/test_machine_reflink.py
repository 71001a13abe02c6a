"""On a filesystem that shares blocks a copy takes no room, and the original may be in use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.host.clone import Progress
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.records import Record
from machine.xfs import mounted

MEGABYTE = 1 << 20


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path) as place:
        yield place


@pytest.mark.parametrize("block", [False, True], ids=["filesystem", "block"])
def test_a_copy_shares_its_blocks(xfs: Path, block: bool) -> None:
    local = LocalVolumes(xfs / "volumes")
    local.prepare()
    assert local.shares_blocks
    name = "block.img" if block else "disk.img"
    local.fill(Record("v", "cl", "ns", "c", "u", block), MEGABYTE, None, Progress())
    local.publish("v")
    content = os.urandom(64 * MEGABYTE)
    (xfs / "volumes" / "v" / name).write_bytes(content)
    os.sync()
    before = os.statvfs(xfs).f_bfree * os.statvfs(xfs).f_frsize
    progress = Progress()
    local.fill(Record("w", "cl", "ns", "d", "u2", block), 64 * MEGABYTE, xfs / "volumes" / "v", progress)
    local.publish("w")
    os.sync()
    assert before - os.statvfs(xfs).f_bfree * os.statvfs(xfs).f_frsize < 4 * MEGABYTE
    assert progress.done == 0
    assert (xfs / "volumes" / "w" / name).read_bytes() == content
