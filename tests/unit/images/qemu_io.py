"""Files that a program of QEMU has open."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROMPT = b"qemu-io> "


@contextmanager
def open_in_qemu(image: Path, *options: str) -> Iterator[None]:
    command = ["qemu-io", "-f", "qcow2", *options, image]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        assert held.stdout.read(len(PROMPT)) == PROMPT
        yield
        held.communicate()
