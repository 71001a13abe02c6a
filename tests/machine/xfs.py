"""A filesystem that shares blocks, for the length of a block."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Thin: what is not written takes no room.
_BYTES = 4 << 30


@contextmanager
def mounted(directory: Path) -> Iterator[Path]:
    """An XFS of its own below the directory. Skips the test where it cannot be mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting XFS needs root")
    image, place = directory / "xfs.img", directory / "xfs"
    with image.open("wb") as file:
        file.truncate(_BYTES)
    place.mkdir()
    for command in (["mkfs.xfs", "-q", str(image)], ["mount", "-o", "loop", str(image), str(place)]):
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"XFS cannot be made or mounted here: {error}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
