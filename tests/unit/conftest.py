"""What several unit tests stand on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A file and a loop device on it."""
    file = tmp_path / "disk.img"
    with file.open("wb") as opened:
        opened.truncate(1 << 20)
    if os.geteuid() != 0:
        pytest.skip("loop devices need root")
    made = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip("no loop devices here")
    device = Path(made.stdout.strip())
    yield file, device
    subprocess.run(["losetup", "--detach", device], check=True)
