"""On a filesystem that shares blocks a copy takes no room, and the original may be in use."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.standalone.volumes.clone import Progress
from ingot.standalone.volumes.local import LocalVolumes, Record

MEGABYTE = 1 << 20


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Path]:
    """An XFS of its own. Skips where it cannot be mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting XFS needs root")
    image, place = tmp_path / "xfs.img", tmp_path / "xfs"
    with image.open("wb") as file:
        file.truncate(320 * MEGABYTE)
    place.mkdir()
    for command in (["mkfs.xfs", "-q", str(image)], ["mount", "-o", "loop", str(image), str(place)]):
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"XFS cannot be made or mounted here: {error}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("block", [False, True], ids=["filesystem", "block"])
def test_a_copy_shares_its_blocks(xfs: Path, block: bool) -> None:
    local = LocalVolumes(xfs / "volumes")
    local.prepare()
    assert local.can_share()
    name = "block.img" if block else "disk.img"
    local.fill(Record("v", "cl", "ns", "c", "u", block), MEGABYTE, "", Progress())
    local.publish("v")
    content = os.urandom(64 * MEGABYTE)
    (xfs / "volumes" / "v" / name).write_bytes(content)
    os.sync()
    before = os.statvfs(xfs).f_bfree * os.statvfs(xfs).f_frsize
    progress = Progress()
    local.fill(Record("w", "cl", "ns", "d", "u2", block), 64 * MEGABYTE, "v", progress)
    local.publish("w")
    os.sync()
    assert before - os.statvfs(xfs).f_bfree * os.statvfs(xfs).f_frsize < 4 * MEGABYTE
    assert progress.done == 0
    assert (xfs / "volumes" / "w" / name).read_bytes() == content
